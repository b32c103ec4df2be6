package sperr

import (
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/werktag"
)

// FuzzCursor: a cursor is read or refused, and one that is read asks the database for
// nothing that it cannot understand.
func FuzzCursor(f *testing.F) {
	last := Order{ID: uuid.MustParse(idA), OrderType: TypeEntsperrung, CreatedAt: testNow}
	f.Add(encodeCursor(Filter{}, last), false, "", "")
	f.Add(encodeCursor(Filter{Due: true, Today: werktag.BerlinDay(testNow)}, last), true, "", "")
	last.FruehestensAm = ptr(werktag.NewDate(2026, 9, 3))
	f.Add(encodeCursor(Filter{Status: StatusPending, MaloID: testMalo}, last), false, "pending", testMalo)
	for _, json := range []string{
		`{}`, `null`, `{"r":"0000-01-01","c":"2026-09-03T08:00:00Z","i":"` + idA + `"}`, `{"r":"infinity","c":"2026-09-03T08:00:00Z","i":"` + idA + `"}`,
		`{"r":null,"c":"0000-01-01T00:00:00Z","i":"` + idA + `"}`, `{"r":null,"c":"9999-12-31T23:59:59-23:59","i":"` + idA + `"}`,
		`{"r":null,"c":"2026-09-03T08:00:00Z","i":"00000000-0000-0000-0000-000000000000"}`, `{"r":null,"c":"2026-09-03T08:00:00Z","i":"` + idA + `","x":1}`,
	} {
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(json)), false, "", "")
	}
	f.Add("e30=", false, "", "")
	f.Fuzz(func(t *testing.T, text string, due bool, status, malo string) {
		filter := Filter{Due: due, Status: Status(status), MaloID: malo, Cursor: text}
		c, err := decodeCursor(filter)
		if err != nil {
			if !errors.Is(err, ErrCursor) || c != nil {
				t.Errorf("cursor %q = %v, %v; want ErrCursor", text, c, err)
			}
			return
		}
		if (c == nil) != (text == "") {
			t.Fatalf("cursor %q = %v", text, c)
		}
		if c != nil {
			wantUsable(t, filter, *c)
		}
	})
}

// wantUsable checks that c belongs to the list of f, that PostgreSQL knows its days and its
// instant, and that it is read again as it was written.
func wantUsable(t *testing.T, f Filter, c cursor) {
	t.Helper()
	if c.Due != f.Due || c.Status != f.Status || c.MaloID != f.MaloID || c.ID == uuid.Nil || (c.Today != nil) != f.Due {
		t.Errorf("%+v is a cursor of %+v", c, f)
	}
	for _, day := range []*werktag.Date{c.Today, c.Requested} {
		if day != nil && day.IsZero() {
			t.Errorf("%+v has a day that is none", c)
		}
	}
	if year := c.CreatedAt.UTC().Year(); year < -4000 || year > 20000 {
		t.Errorf("%+v has an instant that no column holds", c)
	}
	o := Order{ID: c.ID, CreatedAt: c.CreatedAt, FruehestensAm: c.Requested, OrderType: TypeSperrung}
	if c.EntsperrungFirst {
		o.OrderType = TypeEntsperrung
	}
	if c.Today != nil {
		f.Today = *c.Today
	}
	f.Cursor = encodeCursor(f, o)
	again, err := decodeCursor(f)
	if err != nil || again == nil {
		t.Fatalf("%+v is written as %q and not read: %v", c, f.Cursor, err)
	}
	// Nothing but this flag depends on two members at once.
	again.EntsperrungFirst = c.EntsperrungFirst
	if diff := cmp.Diff(c, *again, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Errorf("a cursor (-before +after):\n%s", diff)
	}
}
