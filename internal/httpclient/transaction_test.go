package httpclient

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSetTransaction_writes_names_and_time_as_the_market_spells_them(t *testing.T) {
	t.Parallel()
	summer := time.FixedZone("CEST", 2*60*60)
	for name, c := range map[string]struct {
		at   time.Time
		want string
	}{
		"whole second":        {time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC), "2026-09-01T08:00:00.000Z"},
		"nanoseconds are cut": {time.Date(2026, 9, 1, 8, 0, 0, 999_999_999, time.UTC), "2026-09-01T08:00:00.999Z"},
		"zeros at the end":    {time.Date(2026, 9, 1, 8, 0, 0, 120_000_000, time.UTC), "2026-09-01T08:00:00.120Z"},
		"another zone":        {time.Date(2026, 9, 1, 1, 30, 0, 0, summer), "2026-08-31T23:30:00.000Z"},
	} {
		header := http.Header{}
		SetTransaction(header, "0b7c1e2a-1111-4000-8000-000000000001", c.at)
		var wire strings.Builder
		if err := header.Write(&wire); err != nil {
			t.Fatal(err)
		}
		want := "creationDateTime: " + c.want + "\r\ntransactionId: 0b7c1e2a-1111-4000-8000-000000000001\r\n"
		if diff := cmp.Diff(want, wire.String()); diff != "" {
			t.Errorf("%s: header (-want +got):\n%s", name, diff)
		}
	}
}

func TestSetTransaction_replaces_what_an_earlier_call_had(t *testing.T) {
	t.Parallel()
	reused, fresh := http.Header{}, http.Header{}
	at := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	SetTransaction(reused, "first", at)
	SetTransaction(reused, "second", at.Add(time.Second))
	SetTransaction(fresh, "second", at.Add(time.Second))
	if diff := cmp.Diff(fresh, reused); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}
