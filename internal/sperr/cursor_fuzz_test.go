package sperr

import (
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"sperrd/internal/werktag"
)

// FuzzCursor: a cursor is read or refused, and one that is read asks the database for
// nothing that it cannot understand.
func FuzzCursor(f *testing.F) {
	last := listed{
		Order:        Order{ID: uuid.MustParse(idA), OrderType: TypeEntsperrung},
		RequestedKey: pgtype.Date{InfinityModifier: pgtype.Infinity, Valid: true}, CreatedKey: pgtype.Timestamptz{Time: testNow, Valid: true},
	}
	f.Add(encodeCursor(Filter{}, last), false, "", "")
	f.Add(encodeCursor(Filter{Due: true, Today: werktag.BerlinDay(testNow)}, last), true, "", "")
	last.RequestedKey = pgtype.Date{Time: testNow.Truncate(24 * time.Hour), Valid: true}
	f.Add(encodeCursor(Filter{Status: StatusPending, MaloID: testMalo}, last), false, "pending", testMalo)
	for _, json := range []string{
		`{}`, `null`, `{"r":2147483647,"c":0,"i":"` + idA + `"}`, `{"r":-2147483648,"c":9223372036854775807,"i":"` + idA + `"}`,
		`{"r":2145031949,"c":0,"i":"` + idA + `"}`, `{"r":0,"c":9223371331200000000,"i":"` + idA + `"}`, `{"r":"infinity","c":0,"i":"` + idA + `"}`,
		`{"r":null,"c":"2026-09-03T08:00:00Z","i":"` + idA + `"}`, `{"r":0,"c":0,"i":"00000000-0000-0000-0000-000000000000"}`,
		`{"r":0,"c":0,"i":"` + idA + `","x":1}`, `{"r":1e9,"c":0.5,"i":"` + idA + `"}`,
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
	if c.Today != nil && c.Today.IsZero() {
		t.Errorf("%+v has a day that is none", c)
	}
	if dayKeyOf(c.Requested.value()) != c.Requested || momentKeyOf(c.CreatedAt.value()) != c.CreatedAt {
		t.Errorf("%+v asks for %v and %v", c, c.Requested.value(), c.CreatedAt.value())
	}
	o := listed{
		Order:        Order{ID: c.ID, OrderType: TypeSperrung},
		RequestedKey: c.Requested.value(), CreatedKey: c.CreatedAt.value(),
	}
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
	if diff := cmp.Diff(c, *again); diff != "" {
		t.Errorf("a cursor (-before +after):\n%s", diff)
	}
}
