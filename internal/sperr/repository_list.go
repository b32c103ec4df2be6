package sperr

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/werktag"
)

// Filter selects orders for List. The zero value is the whole queue.
type Filter struct {
	Status Status // empty: any
	MaloID string // empty: any
	// Due selects what the field team can work on: pending orders whose requested
	// date has come on day Today, and those without any date, since a restoration
	// is unverzüglich and an undated Sperrung must not drop off every list.
	Due    bool
	Today  werktag.Date
	Limit  int    // rows at most, at least 1
	Cursor string // of the page before, empty: from the start
}

// Page is one page of a list; Next is empty on the last one.
type Page struct {
	Orders []Order
	Next   string
}

// List reads a page of orders. The due list puts undated Entsperrungen first, then
// goes by requested date, arrival and id; the other goes by requested date, undated
// last, newest first, then id. Orders that exist through a walk over all pages are
// seen exactly once. A foreign or broken cursor is ErrCursor.
func (r *Repository) List(ctx context.Context, f Filter) (Page, error) {
	after, err := decodeCursor(f)
	if err != nil {
		return Page{}, err
	}
	if f.Due && after != nil {
		f.Today = *after.Today // a walk that crosses midnight stays on its day
	}
	sql, args := listQuery(f, after)
	args["tenant"], args["limit"] = r.tenant, f.Limit+1
	orders, err := r.many(ctx, r.pool, sql, args)
	if err != nil {
		return Page{}, fmt.Errorf("list orders: %w", err)
	}
	if len(orders) <= f.Limit {
		return Page{Orders: orders}, nil
	}
	orders = orders[:f.Limit]
	return Page{Orders: orders, Next: encodeCursor(f, orders[f.Limit-1])}, nil
}

// The sort keys. undatedLast is also the expression of the index of the list.
const (
	undatedLast      = `COALESCE(ausfuehrung_am, fruehestens_am, 'infinity'::date)`
	entsperrungFirst = `(ausfuehrung_am IS NULL AND fruehestens_am IS NULL AND order_type = 'entsperrung')`
)

func listQuery(f Filter, after *cursor) (string, pgx.NamedArgs) {
	args := pgx.NamedArgs{}
	where := []string{"tenant = @tenant"}
	if f.Status != "" {
		where = append(where, "status = @status")
		args["status"] = string(f.Status)
	}
	if f.MaloID != "" {
		where = append(where, "malo_id = @malo_id")
		args["malo_id"] = f.MaloID
	}
	order := undatedLast + `, created_at DESC, id DESC`
	if f.Due {
		where = append(where, `status = 'pending'
			AND (COALESCE(ausfuehrung_am, fruehestens_am) <= @today::date OR (ausfuehrung_am IS NULL AND fruehestens_am IS NULL))`)
		args["today"] = f.Today
		order = `NOT ` + entsperrungFirst + `, ` + undatedLast + `, created_at, id`
	}
	if after != nil {
		args["requested"], args["created_at"], args["id"] = after.requested(), after.CreatedAt, after.ID
		if f.Due {
			args["later"] = !after.EntsperrungFirst
			where = append(where, `(NOT `+entsperrungFirst+`, `+undatedLast+`, created_at, id) >
				(@later::boolean, @requested::date, @created_at::timestamptz, @id::uuid)`)
		} else {
			where = append(where, undatedLast+` >= @requested::date AND (`+undatedLast+` > @requested::date
				OR (created_at, id) < (@created_at::timestamptz, @id::uuid))`)
		}
	}
	return `SELECT ` + orderColumns + ` FROM sperr_orders WHERE ` + strings.Join(where, "\n AND ") +
		` ORDER BY ` + order + ` LIMIT @limit`, args
}

// cursor is the sort key of the last row of a page, with what the list was asked
// for: a cursor of another question is refused rather than misread.
type cursor struct {
	Due              bool          `json:"d,omitempty"`
	Status           Status        `json:"s,omitempty"`
	MaloID           string        `json:"m,omitempty"`
	Today            *werktag.Date `json:"t,omitempty"`
	Requested        *werktag.Date `json:"r"`
	EntsperrungFirst bool          `json:"e,omitempty"`
	CreatedAt        time.Time     `json:"c"`
	ID               uuid.UUID     `json:"i"`
}

func (c cursor) requested() any {
	if c.Requested == nil {
		return "infinity"
	}
	return c.Requested.String()
}

func encodeCursor(f Filter, last Order) string {
	c := cursor{
		Due: f.Due, Status: f.Status, MaloID: f.MaloID, Requested: last.RequestedDate(),
		EntsperrungFirst: f.Due && last.RequestedDate() == nil && last.OrderType == TypeEntsperrung,
		CreatedAt:        last.CreatedAt, ID: last.ID,
	}
	if f.Due {
		c.Today = &f.Today
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return "" // no value of a cursor fails to marshal
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func decodeCursor(f Filter) (*cursor, error) {
	if f.Cursor == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(f.Cursor)
	if err != nil {
		return nil, ErrCursor
	}
	var c cursor
	if err := json.Unmarshal(raw, &c, json.RejectUnknownMembers(true)); err != nil {
		return nil, ErrCursor
	}
	if c.ID == uuid.Nil || c.Due != f.Due || c.Due != (c.Today != nil) || c.Status != f.Status || c.MaloID != f.MaloID {
		return nil, ErrCursor
	}
	return &c, nil
}
