package makodtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// maxBody is makod's default limit for a body, in bytes.
const maxBody = 10 << 20

// call is one POST to the command API and what has been read of it.
type call struct {
	header   http.Header
	body     []byte
	tooLarge bool

	// Read leniently, for the log, faults and gates.
	key    string
	maloID string
	name   string

	payload map[string]json.RawMessage
	raw     json.RawMessage // the payload as it came
	modern  bool            // the newer makod, see Idempotency
}

// readCall reads the request without judging it.
func readCall(w http.ResponseWriter, r *http.Request) *call {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	c := &call{header: r.Header.Clone(), body: body, tooLarge: errors.As(err, &tooLarge)}
	c.key = strings.TrimSpace(r.Header.Get("Idempotency-Key"))
	var peek struct {
		Command string `json:"command"`
		Payload struct {
			MaloID string `json:"malo_id"`
		} `json:"payload"`
	}
	_ = json.Unmarshal(body, &peek) // what cannot be read stays empty
	c.name, c.maloID = strings.ToLower(peek.Command), peek.Payload.MaloID
	return c
}

// extract is the framework's part: content type, size, JSON syntax, shape.
func (c *call) extract() *answer {
	media, _, err := mime.ParseMediaType(c.header.Get("Content-Type"))
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return c.framework(http.StatusUnsupportedMediaType, "expected request with `Content-Type: application/json`")
	}
	if c.tooLarge {
		return c.framework(http.StatusRequestEntityTooLarge, "length limit exceeded")
	}
	if !json.Valid(c.body) {
		return c.framework(http.StatusBadRequest, "failed to parse the request body as JSON")
	}
	// Members are taken by exact name: makod does not fold case.
	var members map[string]json.RawMessage
	if json.Unmarshal(c.body, &members) != nil {
		return c.wrongShape("expected an object")
	}
	var name, role *string
	if json.Unmarshal(members["command"], &name) != nil || name == nil {
		return c.wrongShape("missing field `command`")
	}
	if raw, ok := members["marktrolle"]; ok && json.Unmarshal(raw, &role) != nil {
		return c.wrongShape("marktrolle: expected a string")
	}
	c.name, c.raw = strings.ToLower(*name), members["payload"]
	_ = json.Unmarshal(c.raw, &c.payload) // no object: the handler will miss its fields
	return nil
}

// compact returns the payload with sorted members and without blanks.
func (c *call) compact() []byte {
	d := json.NewDecoder(bytes.NewReader(c.raw))
	d.UseNumber()
	var v any
	_ = d.Decode(&v) // valid JSON, or absent and then null
	b, _ := json.Marshal(v)
	return b
}
