package api

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"sync"

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
	load, known := docsFiles[chi.URLParam(r, "asset")]
	if !known {
		return errNoRoute
	}
	file, err := load()
	if err != nil {
		return err
	}
	file.serve(w, r)
	return nil
}

// docsFiles are the files of the page, each made when it is first asked for.
var docsFiles = map[string]func() (docsFile, error){
	"start.js": sync.OnceValues(func() (docsFile, error) {
		return docsFile{plain: newStatic(typeJavaScript, docsStart)}, nil
	}),
	"swagger-ui-bundle.js": swaggerFile("swagger-ui-bundle.js", typeJavaScript),
	"swagger-ui.css":       swaggerFile("swagger-ui.css", typeCSS),
}

// docsFile is a file of the page in the codings in which there is one.
type docsFile struct {
	plain static
	gzip  *static // nil: there is none
}

// swaggerFile is a file of Swagger UI, which the binary has as gzip.
func swaggerFile(name, contentType string) func() (docsFile, error) {
	return sync.OnceValues(func() (docsFile, error) {
		zipped, err := swagger.FS.ReadFile(name + ".gz")
		if err != nil {
			return docsFile{}, fmt.Errorf("read %s: %w", name, err)
		}
		plain, err := unzip(zipped)
		if err != nil {
			return docsFile{}, fmt.Errorf("unzip %s: %w", name, err)
		}
		small := newStatic(contentType, zipped)
		return docsFile{plain: newStatic(contentType, plain), gzip: &small}, nil
	})
}

func unzip(body []byte) ([]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(plain)
}

func (f docsFile) serve(w http.ResponseWriter, r *http.Request) {
	if f.gzip == nil {
		f.plain.serve(w, r)
		return
	}
	w.Header().Set("Vary", "Accept-Encoding")
	if !takesGzip(r.Header) {
		f.plain.serve(w, r)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	f.gzip.serve(w, r)
}
