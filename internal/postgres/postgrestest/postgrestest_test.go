package postgrestest

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }

func TestNew_gives_each_test_a_migrated_database_of_its_own(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"one", "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := New(t)
			var orders int
			err := pool.QueryRow(t.Context(), `
				WITH mine AS (INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type)
					VALUES ('9900357000004', '10001234567', '9900000000001', 'sperrung') RETURNING 1)
				SELECT (SELECT count(*) FROM sperr_orders) + (SELECT count(*) FROM mine)`).Scan(&orders)
			if err != nil {
				t.Fatal(err)
			}
			if orders != 1 {
				t.Errorf("orders = %d, want only my own", orders)
			}
		})
	}
}
