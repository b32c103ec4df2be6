package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

const (
	maxBody = 1 << 20 // bytes; a request of this service has some thousand
	// smallBody is what every request may hold in memory at the same time. What is
	// larger waits for one of largeBodies buffers, so that a hundred callers who
	// send without end cost a few megabytes and an honest one never waits.
	smallBody   = 64 << 10
	largeBodies = 4
)

var errTooLarge = &fault{kind: errBodyTooLarge, detail: "A body may have 1 MiB."}

// readBody reads the whole body once, maxBody at most. A declared length beyond that
// is refused without reading. A body that does not arrive is errUnavailable and not
// the sender's mistake: a market event that a slow line cut must be sent again.
func (s *server) readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, errTooLarge
	}
	start, err := io.ReadAll(io.LimitReader(r.Body, smallBody+1))
	if err != nil {
		return nil, incomplete(err)
	}
	if len(start) <= smallBody {
		return start, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), databaseTimeout)
	defer cancel()
	select {
	case buffer := <-s.large:
		if buffer == nil {
			buffer = make([]byte, maxBody+1)
		}
		defer func() { s.large <- buffer }()
		return fill(buffer, start, r.Body)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: too many large bodies at a time", errUnavailable)
	}
}

// fill reads body to its end, after the start already read, or until buffer is full.
func fill(buffer, start []byte, body io.Reader) ([]byte, error) {
	n := copy(buffer, start)
	for n < len(buffer) {
		read, err := body.Read(buffer[n:])
		n += read
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, incomplete(err)
		}
	}
	if n > maxBody {
		return nil, errTooLarge
	}
	return bytes.Clone(buffer[:n]), nil
}

func incomplete(err error) error {
	return fmt.Errorf("%w: the body did not arrive: %w", errUnavailable, err)
}

// mediaType is the media type of a body that is sent as it stands, in UTF-8, under
// exactly one Content-Type.
func mediaType(h http.Header) (string, error) {
	for _, coding := range h.Values("Content-Encoding") {
		if !strings.EqualFold(coding, "identity") {
			return "", unsupported("Send the body without a Content-Encoding.")
		}
	}
	values := h.Values("Content-Type")
	if len(values) != 1 {
		return "", unsupported("Exactly one Content-Type is needed.")
	}
	media, parameters, err := mime.ParseMediaType(values[0])
	if err != nil {
		return "", unsupported("The Content-Type cannot be read.")
	}
	if charset, given := parameters["charset"]; given && !isUTF8(charset) {
		return "", unsupported("The only charset is utf-8.")
	}
	return media, nil
}

// isUTF8 reports whether a charset is UTF-8 under the name it has or the one it is often
// given, whatever its case and quotes.
func isUTF8(charset string) bool {
	if n := len(charset); n > 2 && charset[0] == '\'' && charset[n-1] == '\'' {
		charset = charset[1 : n-1]
	}
	return strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}

// byteOrderMark is U+FEFF in UTF-8. Senders must not put it before JSON, and readers may
// ignore it (RFC 8259, section 8.1): no order is lost for one.
var byteOrderMark = []byte("\uFEFF")

// withoutMark is text without the one byte order mark that may stand before it.
func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, byteOrderMark) }

// isWide reports whether a body looks like UTF-16 or UTF-32: by its byte order mark, or,
// since JSON begins with an ASCII character, by a zero beside it.
func isWide(body []byte) bool {
	return bytes.HasPrefix(body, []byte{0xFF, 0xFE}) || bytes.HasPrefix(body, []byte{0xFE, 0xFF}) ||
		bytes.IndexByte(body[:min(2, len(body))], 0) >= 0
}

func unsupported(detail string) error {
	return &fault{kind: errUnsupportedMediaType, detail: detail}
}
