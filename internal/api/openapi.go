package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

const openAPIPath = "/openapi.json"

// openAPI is the description of every route. Tests hold it and the table of routes to each
// other, and every answer that the tests of this package get to it.
//
//go:embed openapi.yaml
var openAPI []byte

// undated is the version in openapi.yaml, which the one of the binary replaces.
var undated = []byte("\n  version: 0.0.0\n")

// openAPIDocument is the description as it is served: as JSON in the order in which it is
// written, with the version of the binary.
func openAPIDocument(version string) func() (static, error) {
	return sync.OnceValues(func() (static, error) {
		text := openAPI
		if version != "" {
			text = bytes.Replace(text, undated, fmt.Appendf(nil, "\n  version: %q\n", version), 1)
		}
		body, err := yaml.YAMLToJSON(text)
		if err != nil {
			return static{}, fmt.Errorf("read the OpenAPI description: %w", err)
		}
		return newStatic("application/json", body), nil
	})
}

func (s *server) handleOpenAPI(w http.ResponseWriter, r *http.Request) error {
	document, err := s.document()
	if err != nil {
		return err
	}
	document.serve(w, r)
	return nil
}

// static is content that belongs to the binary.
type static struct {
	contentType string
	etag        string
	body        []byte
}

func newStatic(contentType string, body []byte) static {
	sum := sha256.Sum256(body)
	return static{contentType, `"` + hex.EncodeToString(sum[:8]) + `"`, body}
}

// serve answers with the whole of f, or with 304 to whoever has it. He asks each time
// whether it still is what it was: another version may answer.
func (f static) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	if knows(r.Header, f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.contentType)
	_, _ = w.Write(f.body) // a client that has gone: nobody to tell
}

// knows reports whether the caller has what etag names (RFC 9110, 13.1.2).
func knows(h http.Header, etag string) bool {
	for _, known := range listed(h, "If-None-Match") {
		if strings.TrimPrefix(known, "W/") == etag || known == "*" {
			return true
		}
	}
	return false
}

// takesGzip reports whether the caller names gzip as a coding it takes. One that weighs it
// (gzip;q=0.5, or 0, which refuses it) is rare enough to be sent the larger answer.
func takesGzip(h http.Header) bool {
	for _, coding := range listed(h, "Accept-Encoding") {
		if strings.EqualFold(coding, "gzip") {
			return true
		}
	}
	return false
}

// listed are the elements of a header that is a list.
func listed(h http.Header, name string) []string {
	list := strings.Split(strings.Join(h.Values(name), ","), ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}
