package makodtest

import "net/http"

// The functions of this file are makod's error answers on demand, in the order
// of their status.

// BadRequest is 400, JSON that cannot be parsed.
func BadRequest() Fault {
	return framework(http.StatusBadRequest, "failed to parse the request body as JSON")
}

// Unauthorized is 401, an unknown or expired bearer.
func Unauthorized() Fault { return fixed("Unauthorized", unauthorized()) }

// Forbidden is 403, refused by makod's own policy.
func Forbidden() Fault {
	return refuse(http.StatusForbidden, "Forbidden", "the policy denies SubmitCommand")
}

// ProcessNotFound is 404, no process of this MaLo.
func ProcessNotFound() Fault {
	return Fault{name: "process_not_found", answer: func(c *call, _ answer) answer { return processNotFound(c.maloID) }}
}

// AmbiguousProcess is 409, several processes of this MaLo.
func AmbiguousProcess(count int) Fault {
	return Fault{name: "ambiguous_process", answer: func(c *call, _ answer) answer {
		return ambiguousProcess(c.maloID, count)
	}}
}

// DuplicateProcess is 409, an active process exists. The id is sent as it is,
// an empty one not at all.
func DuplicateProcess(processID string) Fault {
	return Fault{name: "duplicate_process", answer: func(c *call, _ answer) answer {
		return errorBody{
			Error: "duplicate_process", Detail: "an active process exists",
			MaloID: c.maloID, ProcessID: processID,
		}.answer(http.StatusConflict)
	}}
}

// InvalidState is 409, the process is in the state found.
func InvalidState(found State) Fault { return fixed("invalid_state", invalidState(found)) }

// BodyTooLarge is 413.
func BodyTooLarge() Fault {
	return framework(http.StatusRequestEntityTooLarge, "length limit exceeded")
}

// UnsupportedMediaType is 415.
func UnsupportedMediaType() Fault {
	return framework(http.StatusUnsupportedMediaType, "expected request with `Content-Type: application/json`")
}

// WrongShape is 422 from the framework, valid JSON of the wrong shape.
func WrongShape() Fault {
	return Fault{name: "wrong shape", answer: func(c *call, _ answer) answer {
		return *c.wrongShape("missing field `command`")
	}}
}

// CommandRejected is 422, a command or role unknown to this instance.
func CommandRejected() Fault {
	return refuse(http.StatusUnprocessableEntity, "command_rejected", "role NB is not configured on this instance")
}

// MissingIdempotencyKey is 422.
func MissingIdempotencyKey() Fault {
	return refuse(http.StatusUnprocessableEntity, "missing_idempotency_key", "Idempotency-Key is required")
}

// InvalidPayload is 422, a payload the handler cannot read.
func InvalidPayload() Fault {
	return refuse(http.StatusUnprocessableEntity, "invalid_payload", "malo_id is not a valid MaLo-ID")
}

// MaloNotFound is 422; the Sperrung commands do not give it, others do.
func MaloNotFound() Fault {
	return Fault{name: "malo_not_found", answer: func(c *call, _ answer) answer {
		return errorBody{Error: "malo_not_found", Detail: "unknown MaLo", MaloID: c.maloID}.
			answer(http.StatusUnprocessableEntity)
	}}
}

// IdempotencyKeyReuse is 422, the key with another command or payload.
func IdempotencyKeyReuse() Fault { return fixed("idempotency_key_reuse", keyReuse()) }

// RateLimited is 429, plain text with Retry-After: 1. Health paths are exempt.
func RateLimited() Fault {
	a := answer{status: http.StatusTooManyRequests, contentType: typePlain, body: []byte("Too Many Requests! Wait for 1s")}
	return fixed("rate limited", a.with("Retry-After", "1"))
}

// EngineError is 500, storage or a lost optimistic lock. The answer alone does
// not tell whether the command was carried out, see [Applied].
func EngineError() Fault {
	return refuse(http.StatusInternalServerError, "engine_error", "version conflict after 3 attempts")
}

// NotImplemented is 501, a command known but not available.
func NotImplemented() Fault {
	return fixed("not_implemented", errorBody{
		Error: "not_implemented", Detail: "the command is not available", Hint: "use a newer makod",
	}.answer(http.StatusNotImplemented))
}

// BadGateway is 502, HTML of a proxy.
func BadGateway() Fault { return proxy(http.StatusBadGateway) }

// IdempotencyUnavailable is 503, the store of keys cannot be read. An empty
// retryAfter sends no such header.
func IdempotencyUnavailable(retryAfter string) Fault {
	a := failure(http.StatusServiceUnavailable, "idempotency_unavailable", "the idempotency store cannot be read")
	if retryAfter != "" {
		a = a.with("Retry-After", retryAfter)
	}
	return fixed("idempotency_unavailable", a)
}

// GatewayTimeout is 504, HTML of a proxy.
func GatewayTimeout() Fault { return proxy(http.StatusGatewayTimeout) }

// Redirect is a 3xx to another place.
func Redirect(status int, location string) Fault {
	return fixed("redirect", answer{status: status, contentType: typePlain}.with("Location", location))
}

func refuse(status int, code, detail string) Fault { return fixed(code, failure(status, code, detail)) }

func framework(status int, detail string) Fault {
	return Fault{name: http.StatusText(status), answer: func(c *call, _ answer) answer {
		return *c.framework(status, detail)
	}}
}

func proxy(status int) Fault {
	text := http.StatusText(status)
	body := "<html>\r\n<head><title>" + text + "</title></head>\r\n<body>\r\n<h1>" + text + "</h1>\r\n</body>\r\n</html>\r\n"
	return fixed(text, answer{status: status, contentType: typeHTML, body: []byte(body)})
}
