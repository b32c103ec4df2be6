package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// newClient is how every test calls the service: each answer is held to the description,
// and so is each request that was done. Paths at which a test has put a handler of its own
// are let pass.
func newClient(t *testing.T, connections int, foreign ...string) *http.Client {
	t.Helper()
	base := &http.Transport{MaxIdleConnsPerHost: connections}
	t.Cleanup(base.CloseIdleConnections)
	return &http.Client{Transport: watched{t, base, foreign}}
}

// watched is a transport that looks at what passes, and changes nothing of it: also how a
// body comes in pieces, or ends too early, stays as it is.
type watched struct {
	t    *testing.T
	base *http.Transport

	foreign []string
}

func (w watched) CloseIdleConnections() { w.base.CloseIdleConnections() }

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	if slices.Contains(w.foreign, r.URL.Path) {
		return w.base.RoundTrip(r)
	}
	sent := &passing{}
	if r.Body != nil && r.Body != http.NoBody {
		sent.ReadCloser = r.Body
		r = r.WithContext(r.Context())
		r.Body = sent
	}
	response, err := w.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusRequestHeaderFieldsTooLarge {
		return response, nil // of net/http, which has asked no route
	}
	c, err := described()
	if err != nil {
		return nil, errors.Join(err, response.Body.Close())
	}
	w.report(r, response, c.checkHeader(r, response))
	response.Body = &passing{ReadCloser: response.Body, ended: func(body []byte) {
		w.report(r, response, c.checkBody(r, response, body))
		if response.StatusCode < http.StatusMultipleChoices {
			body, whole := sent.all()
			w.report(r, response, c.checkRequest(r, body, whole || sent.ReadCloser == nil))
		}
	}}
	return response, nil
}

func (w watched) report(r *http.Request, response *http.Response, err error) {
	if err != nil && w.t.Context().Err() == nil { // a test that has ended takes no error any more
		w.t.Errorf("%s %s: %d is not as the description has it: %v", r.Method, r.URL.Path, response.StatusCode, err)
	}
}

// passing is a body on its way.
type passing struct {
	io.ReadCloser
	mutex sync.Mutex
	seen  bytes.Buffer
	whole bool
	ended func([]byte) // called once, at the end; nil: nobody waits for it
}

func (p *passing) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.seen.Write(b[:n])
	if errors.Is(err, io.EOF) && !p.whole {
		p.whole = true
		if p.ended != nil {
			p.ended(p.seen.Bytes())
		}
	}
	return n, err
}

func (p *passing) all() (body []byte, whole bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.seen.Bytes(), p.whole
}

// checkHeader holds status and header of an answer to the description.
func (c *contract) checkHeader(r *http.Request, response *http.Response) error {
	operation, _, ok := c.operation(r.Method, r.URL.EscapedPath())
	if !ok {
		return nil // see checkBody
	}
	described := operation.in("responses", fmt.Sprint(response.StatusCode))
	if !described.exists() {
		return errors.New("there is no such status")
	}
	known := slices.Clone(headersOfEverything)
	for name := range described.in("headers").members() {
		header := described.in("headers", name)
		values := response.Header.Values(name)
		known = append(known, http.CanonicalHeaderKey(name))
		if len(values) == 0 && header.members()["required"] == true {
			return fmt.Errorf("header %s is missing", name)
		}
		for _, value := range values {
			if err := header.in("schema").validate(value); err != nil {
				return fmt.Errorf("header %s: %q: %w", name, value, err)
			}
		}
	}
	for name := range response.Header {
		if !slices.Contains(known, name) {
			return fmt.Errorf("header %s is not described", name)
		}
	}
	return nil
}

// headersOfEverything belong to HTTP, or to every answer.
var headersOfEverything = []string{
	"Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Transfer-Encoding", "Vary",
	"X-Content-Type-Options", "X-Request-Id",
}

// checkBody holds the body of an answer to the description. What no operation answers is a
// problem of any kind.
func (c *contract) checkBody(r *http.Request, response *http.Response, body []byte) error {
	if r.Method == http.MethodHead {
		return nil
	}
	operation, _, ok := c.operation(r.Method, r.URL.EscapedPath())
	if !ok {
		if response.StatusCode < http.StatusBadRequest {
			return errors.New("no operation is described")
		}
		return c.root().in("components", "schemas", "Problem").validateJSON(body)
	}
	content := operation.in("responses", fmt.Sprint(response.StatusCode), "content")
	if !content.exists() {
		if len(body) > 0 {
			return fmt.Errorf("no body is described: %s", body)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	schema := content.in(media, "schema")
	switch {
	case !schema.exists():
		return fmt.Errorf("%s is not described", media)
	case strings.HasSuffix(media, "json"):
		return schema.validateJSON(body)
	default:
		return schema.validate(string(body))
	}
}

func (p place) validateJSON(body []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", body, err)
	}
	if err := p.validate(v); err != nil {
		return fmt.Errorf("%s: %w", body, err)
	}
	return nil
}
