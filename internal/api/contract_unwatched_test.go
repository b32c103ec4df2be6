package api_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unwatched are the tests that do not call through newClient, and why.
var unwatched = map[string]string{
	"contract_exchange_test.go": "holds newClient",
	"limits_test.go":            "breaks the protocol on a connection of its own, which others use to go away",
	"middleware_test.go":        "serves a handler of its own, which the service has not",
}

var callsDirectly = regexp.MustCompile(`http\.Client[{)]|http\.Default(Client|Transport)|http\.(Get|Post|Head)\(|\.Client\(\)|net\.Dial|tls\.Dial`)

func TestEvery_test_holds_what_it_is_answered_to_the_description(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	direct := []string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if callsDirectly.Match(text) && file != "contract_unwatched_test.go" {
			direct = append(direct, file)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(unwatched)), direct); diff != "" {
		t.Errorf("tests with a client of their own (-want +got):\n%s", diff)
	}
}
