package werktag_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"sperrd/internal/werktag"
)

var formats = map[string]int16{"text": pgtype.TextFormatCode, "binary": pgtype.BinaryFormatCode}

func TestDate_travels_through_pgx_as_a_date(t *testing.T) {
	t.Parallel()
	for name, format := range formats {
		for _, want := range []werktag.Date{
			{}, // NULL
			werktag.NewDate(1, 1, 1), werktag.NewDate(1969, 12, 31), werktag.NewDate(2026, 3, 29),
			werktag.NewDate(2026, 10, 25), werktag.NewDate(9999, 12, 31),
		} {
			m := pgtype.NewMap()
			wire, err := m.Encode(pgtype.DateOID, format, want, nil)
			if err != nil {
				t.Fatalf("%s: encode %s: %v", name, want, err)
			}
			if (wire == nil) != want.IsZero() {
				t.Errorf("%s: %q is NULL: %v", name, want, wire == nil)
			}
			got := werktag.NewDate(2000, 1, 1)
			if err := m.Scan(pgtype.DateOID, format, wire, &got); err != nil || got != want {
				t.Errorf("%s: scan of %q = %q, %v", name, want, got, err)
			}
		}
	}
}

func TestDate_pointers_and_arrays_travel_through_pgx(t *testing.T) {
	t.Parallel()
	monday := werktag.NewDate(2026, 8, 31)
	for name, format := range formats {
		m := pgtype.NewMap()
		for _, want := range []*werktag.Date{nil, &monday} {
			wire, err := m.Encode(pgtype.DateOID, format, want, nil)
			if err != nil {
				t.Fatalf("%s: encode: %v", name, err)
			}
			got := new(werktag.Date)
			if err := m.Scan(pgtype.DateOID, format, wire, &got); err != nil || !cmp.Equal(want, got) {
				t.Errorf("%s: scan of %v = %v, %v", name, want, got, err)
			}
		}
		want := []werktag.Date{monday, monday.AddDays(1)}
		wire, err := m.Encode(pgtype.DateArrayOID, format, want, nil)
		if err != nil {
			t.Fatalf("%s: encode array: %v", name, err)
		}
		var got []werktag.Date
		if err := m.Scan(pgtype.DateArrayOID, format, wire, &got); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: scan of array = %v, %v", name, got, err)
		}
	}
}

func TestDate_refuses_infinity_from_pgx(t *testing.T) {
	t.Parallel()
	for name, format := range formats {
		for _, infinity := range []pgtype.InfinityModifier{pgtype.Infinity, pgtype.NegativeInfinity} {
			m := pgtype.NewMap()
			wire, err := m.Encode(pgtype.DateOID, format, pgtype.Date{Valid: true, InfinityModifier: infinity}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got werktag.Date
			if err := m.Scan(pgtype.DateOID, format, wire, &got); err == nil {
				t.Errorf("%s: %s scanned as %q", name, infinity, got)
			}
		}
	}
}

func TestScan_refuses_what_is_no_day(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 8, 31, 0, 0, 0, 0, time.UTC)
	for _, src := range []any{
		midnight.Add(time.Nanosecond), midnight.Add(-2 * time.Hour), midnight.In(werktag.Berlin()).Add(-2 * time.Hour),
		midnight.AddDate(8000, 0, 0), midnight.AddDate(-2026, 0, 0),
		time.Date(0, 0, 0, 0, 0, 0, 0, time.UTC), // what the fields of the zero Date would be as a time
		"", "infinity", "-infinity", "2026-08-31 00:00:00", "2026-02-30", []byte("2026-08-31"), 20260831, true,
	} {
		kept := werktag.NewDate(2026, 1, 7)
		got := kept
		if err := got.Scan(src); err == nil || got != kept {
			t.Errorf("Scan(%v) = %q, %v; want an error and no change", src, got, err)
		}
	}
	var got werktag.Date
	if err := got.Scan(midnight); err != nil || got != werktag.NewDate(2026, 8, 31) {
		t.Errorf("Scan(%v) = %q, %v", midnight, got, err)
	}
}
