package api

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"
	swagger "github.com/swaggest/swgui/v5/static"
)

const docsPath = "/docs"

// The page is Swagger UI, which is part of the binary; both files below are all that is our
// own of it. It is not the page of swgui, whose scripts stand in the page itself: a policy
// could then not tell them from somebody else's.
var (
	//go:embed docs/index.html
	docsPage []byte
	//go:embed docs/start.js
	docsStart []byte
)

// docsPolicy lets the page load its own files and the description, and send to this service
// what its reader tries out. Swagger UI draws its icons from data: URLs.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const (
	typeJavaScript = "text/javascript; charset=utf-8"
	typeCSS        = "text/css; charset=utf-8"
)

// handleDocs serves the page on which a person reads the description.
func (s *server) handleDocs(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Security-Policy", docsPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(docsPage) // a client that has gone: nobody to tell
	return nil
}

func (s *server) handleDocsAsset(w http.ResponseWriter, r *http.Request) error {
	switch name := chi.URLParam(r, "asset"); name {
	case "start.js":
		newStatic(typeJavaScript, docsStart).serve(w, r)
		return nil
	case "swagger-ui-bundle.js":
		return serveSwagger(w, r, name, typeJavaScript)
	case "swagger-ui.css":
		return serveSwagger(w, r, name, typeCSS)
	default:
		return errNoRoute
	}
}

// serveSwagger answers with a file of Swagger UI, which the binary has as gzip alone.
func serveSwagger(w http.ResponseWriter, r *http.Request, name, contentType string) error {
	zipped := takesGzip(r.Header)
	body, err := swagger.FS.ReadFile(name + ".gz")
	if err == nil && !zipped {
		body, err = unzip(body)
	}
	if err != nil {
		return fmt.Errorf("read %s of the page of the description: %w", name, err)
	}
	w.Header().Set("Vary", "Accept-Encoding")
	if zipped {
		w.Header().Set("Content-Encoding", "gzip")
	}
	newStatic(contentType, body).serve(w, r)
	return nil
}

func unzip(body []byte) ([]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(plain)
}
