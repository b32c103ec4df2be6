package postgres_test

import (
	"strings"
	"testing"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"

	"github.com/google/go-cmp/cmp"
)

// settings are what Open promises for every connection.
const settings = `SELECT jsonb_build_object(
	'application_name', current_setting('application_name'),
	'statement_timeout', current_setting('statement_timeout'),
	'lock_timeout', current_setting('lock_timeout'),
	'idle_in_transaction_session_timeout', current_setting('idle_in_transaction_session_timeout'),
	'default_transaction_isolation', current_setting('default_transaction_isolation'),
	'TimeZone', current_setting('TimeZone'))`

func TestOpen_bounds_every_connection_and_works_in_UTC(t *testing.T) {
	t.Parallel()
	pool, err := postgres.Open(t.Context(), postgrestest.NewEmptyURL(t), postgres.Options{PoolSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var got map[string]string
	if err := pool.QueryRow(t.Context(), settings).Scan(&got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"application_name": "sperrd", "statement_timeout": "10s", "lock_timeout": "5s",
		"idle_in_transaction_session_timeout": "15s", "TimeZone": "UTC", "default_transaction_isolation": "read committed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if size := pool.Config().MaxConns; size != 3 {
		t.Errorf("pool size = %d, want 3", size)
	}
}

func TestOpen_lets_the_URL_set_timeouts_but_neither_time_zone_nor_isolation(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t) + "&statement_timeout=3s&timezone=Asia/Tokyo&default_transaction_isolation=serializable"
	pool, err := postgres.Open(t.Context(), url, postgres.Options{ApplicationName: "sperrd check"})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var got map[string]string
	if err := pool.QueryRow(t.Context(), settings).Scan(&got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"application_name": "sperrd check", "statement_timeout": "3s", "lock_timeout": "5s",
		"idle_in_transaction_session_timeout": "15s", "TimeZone": "UTC", "default_transaction_isolation": "read committed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestOpen_and_Migrator_never_show_the_password(t *testing.T) {
	t.Parallel()
	// Each part of the password is a word that stands nowhere else in the URL.
	urls := map[string]string{
		"port is no number":       "postgres://user:geheim@localhost:port/db",
		"question mark, at sign":  "postgres://user:geheim?x@wort@127.0.0.1/db",
		"parameter in password":   "postgres://user:geheim@wort?x=/y@127.0.0.1/db",
		"leading blank":           " postgres://user:geheim@127.0.0.1/wort?sslmode=disable",
		"scheme in capitals":      "POSTGRES://user:geheim@127.0.0.1/wort?sslmode=disable",
		"another scheme":          "postgresql+asyncpg://user:geheim@127.0.0.1/wort?ssl=true",
		"two words in password":   "host=localhost password=geheim wort dbname=db",
		"at sign in password":     "postgres://user:geheim@wort@localhost/db",
		"at sign, two hosts":      "postgres://user:geheim@wort@localhost,127.0.0.1:1/db",
		"slash in password":       "postgres://user:geheim/wort@localhost/db",
		"digits and slash":        "postgres://user:12345/wort@localhost/db",
		"hash in password":        "postgres://user:geheim#wort@localhost/db",
		"digits and hash":         "postgres://user:12345#wort@localhost/db",
		"colon and broken port":   "postgres://user:geheim:wort@localhost:port/db",
		"percent in password":     "postgres://user:geheim%wort@localhost/db",
		"unknown sslmode":         "postgres://user:geheim@localhost/db?sslmode=geheim",
		"key and value":           "host=localhost password='geheim",
		"key and value, no quote": "host=localhost password=geheim wort",
		"no URL":                  "geheim",
		"nobody listens":          "postgres://user:geheim@127.0.0.1:1/db",
	}
	for name, url := range urls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, openErr := postgres.Open(t.Context(), url, postgres.Options{})
			upErr := postgres.NewMigrator(url, fixture(1), nil).Up(t.Context())
			for _, err := range []error{openErr, upErr} {
				if err == nil {
					t.Fatal("no error")
				}
				for _, part := range []string{"geheim", "wort", "12345"} {
					if strings.Contains(err.Error(), part) {
						t.Errorf("the error shows the password: %v", err)
					}
				}
			}
		})
	}
}

func TestOpen_says_what_is_wrong_with_a_URL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://user:pw@localhost/db?sslmode=often":        "sslmode",
		"postgres://user:pw@localhost/db?pool_max_conns=many":  "many",
		"postgres://user:p/w@localhost/db":                     "percent-encoded",
		"postgres://user:pw@localhost/db?connect_timeout=late": "late",
	} {
		_, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %v, want an error with %q", url, err, want)
		}
	}
}

func TestOpen_reports_a_missing_server_as_unavailable(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), "postgres://user@127.0.0.1:1/db", postgres.Options{})
	if !postgres.IsUnavailable(err) {
		t.Errorf("IsUnavailable(%v) = false", err)
	}
}
