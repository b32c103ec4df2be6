package postgres_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/postgres"
)

func TestReadEncryption_by_sslmode_and_host(t *testing.T) {
	t.Parallel()
	plain, unverified := postgres.Encryption{Plain: []string{"db"}}, postgres.Encryption{Unverified: []string{"db"}}
	for url, want := range map[string]postgres.Encryption{
		"postgres://u:p@db/d":                                        plain, // prefer
		"postgres://u:p@db/d?sslmode=disable":                        plain,
		"postgres://u:p@db/d?sslmode=allow":                          plain,
		"postgres://u:p@db/d?sslmode=require":                        unverified,
		"postgres://u:p@db/d?sslmode=verify-ca":                      {},
		"postgres://u:p@db/d?sslmode=verify-full":                    {},
		"postgres://u:p@localhost/d":                                 {},
		"postgres://u:p@127.0.0.1,[::1]/d?sslmode=disable":           {},
		"postgres://u:p@/d?host=/var/run/postgresql&sslmode=disable": {},
		"postgres://u:p@db,db2,127.0.0.1/d?sslmode=prefer":           {Plain: []string{"db", "db2"}},
	} {
		got, err := postgres.ReadEncryption(url)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", url, err, diff)
		}
	}
}
