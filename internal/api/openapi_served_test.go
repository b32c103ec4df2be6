package api_test

import (
	"compress/gzip"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescription_is_served_in_the_order_in_which_it_is_written(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	served := string(contractOf(t).raw)
	at := 0
	for _, match := range pathsWritten.FindAllStringSubmatch(string(text), -1) {
		next := strings.Index(served, `"`+match[1]+`": {`)
		if next <= at {
			t.Errorf("%s is at %d, after what is at %d", match[1], next, at)
		}
		at = next
	}
	if at == 0 {
		t.Error("no path is written")
	}
}

var pathsWritten = regexp.MustCompile(`(?m)^  (/\S*):$`)

func TestDescription_and_its_page_are_loaded_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tags := map[string]string{}
	for _, path := range []string{"/openapi.json", "/docs/start.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"} {
		for _, coding := range []string{"gzip, br", "identity", "gzip;q=0"} {
			a := b.call(t, http.MethodGet, path, "", "Accept-Encoding", coding)
			tag := a.header.Get("ETag")
			wantStatus(t, a, http.StatusOK)
			if a.header.Get("Cache-Control") != "no-cache" || tag == "" {
				t.Errorf("%s: headers %v", path, a.header)
			}
			for _, known := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
				again := b.call(t, http.MethodGet, path, "", "Accept-Encoding", coding, "If-None-Match", known)
				if again.status != http.StatusNotModified || len(again.body) != 0 || again.header.Get("ETag") != tag {
					t.Errorf("%s, known %s: %d, %d bytes", path, known, again.status, len(again.body))
				}
			}
			wantStatus(t, b.call(t, http.MethodGet, path, "", "If-None-Match", `"x"`), http.StatusOK)
			if a.header.Get("Content-Encoding") != "gzip" {
				continue
			}
			if _, err := gzip.NewReader(strings.NewReader(string(a.body))); err != nil || coding != "gzip, br" {
				t.Errorf("%s for %s is gzip: %v", path, coding, err)
			}
			tags[path] = tag
		}
		if plain := b.call(t, http.MethodGet, path, "", "Accept-Encoding", "identity").header.Get("ETag"); tags[path] == plain {
			t.Errorf("%s: both codings have the ETag %s", path, plain)
		}
	}
	if want := []string{"/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"}; !slices.Equal(slices.Sorted(maps.Keys(tags)), want) {
		t.Errorf("zipped: %v, want %v", tags, want)
	}
}

var loaded = regexp.MustCompile(`(?:src|href)="([^"]*)"|url: "([^"]*)"`)

// Whoever reads the page tells nobody but this service.
func TestPage_of_the_description_loads_from_this_service_alone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page := b.get(t, "/docs")
	wantStatus(t, page, http.StatusOK)
	script := b.get(t, "/docs/start.js")
	if policy := page.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("policy %q", policy)
	}
	if text := string(page.body); strings.Contains(text, "<style") || strings.Contains(text, "<script>") || strings.Contains(text, "//") {
		t.Errorf("the page holds what its policy forbids:\n%s", text)
	}
	if !strings.Contains(string(script.body), "validatorUrl: null") {
		t.Error("a validator is asked")
	}
	var got []string
	for _, match := range loaded.FindAllStringSubmatch(string(page.body)+string(script.body), -1) {
		if path := match[1] + match[2]; path != "data:," {
			got = append(got, "/"+path)
			wantStatus(t, b.get(t, "/"+path), http.StatusOK)
		}
	}
	slices.Sort(got)
	want := []string{"/openapi.json", "/openapi.json"}
	for _, file := range contractOf(t).root().in("paths", "/docs/{asset}", "get", "parameters").items()[0].in("schema", "enum").items() {
		want = append(want, "/docs/"+file.value.(string))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	wantProblem(t, b.get(t, "/docs/swagger-ui.js"), http.StatusNotFound, "not_found")
}
