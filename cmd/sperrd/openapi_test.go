package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"sperrd/internal/postgres/postgrestest"
)

func TestServe_describes_itself_with_its_version(t *testing.T) {
	t.Parallel()
	i := start(t, setup{port: freePort(t), database: postgrestest.NewURL(t), makod: newMarket(t).url})
	i.awaitReady(t)
	status, body, err := i.get(t, "/openapi.json")
	var document struct{ Info struct{ Version string } }
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(body), &document) != nil || document.Info.Version != versionText() {
		t.Errorf("GET /openapi.json: %d, version %q, want %q; %v", status, document.Info.Version, versionText(), err)
	}
}
