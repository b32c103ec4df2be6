package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
)

// readOnly begins a transaction that cannot write.
func readOnly(t *testing.T, url string) pgx.Tx {
	t.Helper()
	tx, err := connect(t, url).BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func TestDescribe_tells_of_the_server_and_not_of_the_transaction(t *testing.T) {
	t.Parallel()
	s, err := postgres.Describe(t.Context(), readOnly(t, postgrestest.NewEmptyURL(t)))
	if err != nil || s.Major < 15 || s.Encoding != "UTF8" || s.Standby || s.ReadOnly || s.Schema != "public" || !s.Create ||
		s.Role == "" || s.Connections < 1 || s.Available < s.Connections {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestZoneOffsets_come_from_the_database_in_the_order_of_the_instants(t *testing.T) {
	t.Parallel()
	tx := readOnly(t, postgrestest.NewEmptyURL(t))
	instants := []time.Time{time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for zone, want := range map[string][2]time.Duration{
		"Europe/Berlin": {2 * time.Hour, time.Hour}, "Asia/Kolkata": {330 * time.Minute, 330 * time.Minute}, "America/New_York": {-4 * time.Hour, -5 * time.Hour},
	} {
		got, err := postgres.ZoneOffsets(t.Context(), tx, zone, instants)
		if err != nil || len(got) != 2 || [2]time.Duration(got) != want {
			t.Errorf("%s: %v, %v; want %v", zone, got, err, want)
		}
	}
	if _, err := postgres.ZoneOffsets(t.Context(), tx, "Europe/Nowhere", instants); err == nil {
		t.Error("a zone that the database does not know has offsets")
	}
}

func TestTables_finds_those_of_the_current_schema_alone(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	do(t, connect(t, url), `CREATE SCHEMA other; CREATE TABLE other.a (); CREATE TABLE b () WITH (autovacuum_enabled = 'no'); CREATE VIEW c AS SELECT 1`)
	tables, err := postgres.Tables(t.Context(), readOnly(t, url), map[string]string{"a": "SELECT", "b": "SELECT INSERT", "c": "SELECT"})
	if err != nil || len(tables) != 1 || tables[0].Name != "b" || !tables[0].Owned || len(tables[0].Missing) != 0 || !tables[0].NoVacuum {
		t.Errorf("%+v, %v; want b", tables, err)
	}
}
