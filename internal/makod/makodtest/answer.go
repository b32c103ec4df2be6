package makodtest

import (
	"encoding/json"
	"net/http"
	"strconv"
)

const (
	typeJSON  = "application/json"
	typePlain = "text/plain; charset=utf-8"
	typeHTML  = "text/html; charset=utf-8"
)

// answer is a complete HTTP answer.
type answer struct {
	status      int
	contentType string
	header      map[string]string
	body        []byte
}

func (a answer) accepted() bool { return a.status == http.StatusAccepted }

// with returns the answer with one more header.
func (a answer) with(name, value string) answer {
	a.header = map[string]string{name: value}
	return a
}

// write sends the answer. A truncated one announces its full length and stops
// half way; the HTTP server then closes the connection.
func (a answer) write(w http.ResponseWriter, truncate bool) {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	for name, value := range a.header {
		h.Set(name, value)
	}
	w.WriteHeader(a.status)
	body := a.body
	if truncate {
		body = body[:len(body)/2]
	}
	_, _ = w.Write(body) // the client is gone: nobody to tell
}

// errorBody is the form of makod's errors with all extra fields in use.
type errorBody struct {
	Error        string `json:"error"`
	Detail       string `json:"detail"`
	BusinessKey  string `json:"business_key,omitempty"`
	WorkflowName string `json:"workflow_name,omitempty"`
	Count        int    `json:"count,omitempty"`
	MaloID       string `json:"malo_id,omitempty"`
	ProcessID    string `json:"process_id,omitempty"`
	Hint         string `json:"hint,omitempty"`
}

func (b errorBody) answer(status int) answer { return jsonAnswer(status, b) }

func jsonAnswer(status int, v any) answer {
	body, _ := json.Marshal(v) // strings and numbers only
	return answer{status: status, contentType: typeJSON, body: body}
}

func failure(status int, code, detail string) answer {
	return errorBody{Error: code, Detail: detail}.answer(status)
}

// framework is an error before the handler: plain text from an older makod,
// JSON from a newer one.
func (c *call) framework(status int, detail string) *answer {
	a := answer{status: status, contentType: typePlain, body: []byte(detail)}
	if c.modern {
		a = failure(status, http.StatusText(status), detail)
	}
	return &a
}

func (c *call) wrongShape(detail string) *answer {
	return c.framework(http.StatusUnprocessableEntity, "failed to deserialize the JSON body: "+detail)
}

func unauthorized() answer {
	return failure(http.StatusUnauthorized, "Unauthorized", "missing or unknown bearer token")
}

func acceptedAnswer(c *call, processID string) answer {
	return jsonAnswer(http.StatusAccepted, struct {
		Key        string `json:"idempotency_key"`
		Command    string `json:"command"`
		Marktrolle string `json:"marktrolle"`
		Status     string `json:"status"`
		ProcessID  string `json:"process_id"`
	}{c.key, c.name, roleNB, "accepted", processID})
}

func processNotFound(maloID string) answer {
	return errorBody{
		Error: "process_not_found", Detail: "no active process for this business key",
		BusinessKey: maloID, WorkflowName: workflow,
	}.answer(http.StatusNotFound)
}

func ambiguousProcess(maloID string, count int) answer {
	return errorBody{
		Error: "ambiguous_process", Detail: "more than one process matches",
		BusinessKey: maloID, Count: count,
	}.answer(http.StatusConflict)
}

func invalidState(found State) answer {
	return failure(http.StatusConflict, "invalid_state",
		"workflow error: invalid state: expected "+string(StateValidationPassed)+", found "+string(found))
}
