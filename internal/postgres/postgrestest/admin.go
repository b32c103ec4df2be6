package postgrestest

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
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

// NewRole makes a role that may log in and nothing else, and returns its name and the URL
// of the database for it. It goes with the test, and the rights in that database with it.
func NewRole(t testing.TB, databaseURL string) (name, roleURL string) {
	t.Helper()
	const password = "role-Geheimnis"
	admin := AdminURL(t, databaseURL)
	name = "role_" + strings.ToLower(rand.Text()[:10])
	execute(t, admin, "CREATE ROLE "+name+" LOGIN PASSWORD '"+password+"'")
	t.Cleanup(func() { execute(t, admin, "DROP OWNED BY "+name+"; DROP ROLE "+name) })
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, password)
	return name, u.String()
}

func execute(t testing.TB, databaseURL, sql string) {
	t.Helper()
	ctx := context.Background() // cleanups run after the end of the test's own
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Error(err)
	}
}
