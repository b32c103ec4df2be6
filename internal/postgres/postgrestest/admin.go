package postgrestest

import (
	"net/url"
	"testing"
)

// AdminURL returns the URL of a database of a test for the role that made it. That is a
// superuser, unless SPERRD_TEST_DATABASE_URL names another one. What a test makes beside
// its database, such as a role, it removes itself.
func AdminURL(t testing.TB, databaseURL string) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	parsed, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	return withDatabase(start(t).admin, parsed.Path[1:])
}
