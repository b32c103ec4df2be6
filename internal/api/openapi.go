package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"
	"github.com/swaggest/swgui/v5/static"
	"github.com/vearutop/statigz"
	"go.yaml.in/yaml/v4"
)

const (
	openAPIPath = "/openapi.json"
	docsPath    = "/docs"
)

// openAPI is the description of every route. A test holds it and the table of routes to
// each other, and every answer that the tests of this package get to it.
//
//go:embed openapi.yaml
var openAPI []byte

// openAPIJSON is the description as JSON, for this version of the service.
func openAPIJSON(version string) ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(openAPI, &document); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	if info, ok := document["info"].(map[string]any); ok && version != "" {
		info["version"] = version
	}
	return json.Marshal(document)
}

// handleOpenAPI serves the description.
func (s *server) handleOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	document, err := s.document()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document) // a client that has gone: nobody to tell
	return nil
}

// The page is Swagger UI, which is part of the binary; both files below are all that is our
// own of it.
var (
	//go:embed docs/index.html
	docsIndex []byte
	//go:embed docs/start.js
	docsStart []byte

	docsFiles = http.StripPrefix(docsPath+"/", statigz.FileServer(static.FS))
	// docsAssets are what the page loads.
	docsAssets = []string{"swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"}
)

// docsPolicy lets the page load nothing from elsewhere and run no script but its own. Swagger
// UI writes styles into its elements and draws its icons from data.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// handleDocs serves the page on which a person reads the description.
func (s *server) handleDocs(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Security-Policy", docsPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(docsIndex)
	return nil
}

func (s *server) handleDocsAsset(w http.ResponseWriter, r *http.Request) error {
	switch asset := chi.URLParam(r, "asset"); {
	case asset == "start.js":
		w.Header().Set("Content-Type", "application/javascript")
		_, _ = w.Write(docsStart)
	case slices.Contains(docsAssets, asset):
		docsFiles.ServeHTTP(w, r)
	default:
		return errNoRoute
	}
	return nil
}
