package sperr

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"sperrd/internal/werktag"
)

// Filter selects orders for List. The zero value is the whole queue.
type Filter struct {
	Status Status // empty: any
	MaloID string // empty: any
	// Due selects what the field team can work on: pending orders whose requested
	// date has come on day Today, and those without any date, since a restoration
	// is unverzüglich and an undated Sperrung must not drop off every list. A date beyond
	// every calendar, infinity, is none: nobody can say that its order is not due.
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
	list, err := r.list(ctx, f, after)
	if err != nil {
		return Page{}, err
	}
	page := Page{Orders: make([]Order, min(len(list), f.Limit))}
	for i := range page.Orders {
		page.Orders[i] = list[i].Order
		r.derive(&page.Orders[i])
	}
	if len(list) > f.Limit {
		page.Next = encodeCursor(f, *list[f.Limit-1])
	}
	return page, nil
}

// list reads a page and, where there is one, the first row of the next.
func (r *Repository) list(ctx context.Context, f Filter, after *cursor) ([]*listed, error) {
	sql, args := listQuery(f, after)
	args["tenant"], args["limit"] = r.tenant, f.Limit+1
	rows, err := r.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("list orders: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[listed])
	if err != nil {
		return nil, fmt.Errorf("list orders: %w", err)
	}
	return list, nil
}

// Route reads all orders of f in the order in which somebody drives to them: see
// sortForRoute. Its Cursor counts for nothing. whole is false, and there are none, where
// they are more than its Limit: a part of a route would pass for all of it.
func (r *Repository) Route(ctx context.Context, f Filter) (orders []*Order, whole bool, err error) {
	list, err := r.list(ctx, f, nil)
	if err != nil || len(list) > f.Limit {
		return nil, false, err
	}
	orders = make([]*Order, len(list))
	for i, l := range list {
		r.derive(&l.Order)
		orders[i] = &l.Order
	}
	sortForRoute(orders)
	return orders, true, nil
}

// listed is an order with its sort keys as the database has them, odd ones included.
type listed struct {
	Order
	RequestedKey pgtype.Date        `db:"requested_key"`
	CreatedKey   pgtype.Timestamptz `db:"created_key"`
}

// The sort keys. undatedLast is also the expression of the index of the list.
const (
	requested   = `COALESCE(ausfuehrung_am, fruehestens_am)`
	undatedLast = `COALESCE(ausfuehrung_am, fruehestens_am, 'infinity'::date)`
)

// entsperrungFirst holds for an Entsperrung that has no requested date.
var entsperrungFirst = `(order_type = 'entsperrung' AND ` + undated(requested) + `)`

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
	// The bare name would mean the moment that is shown.
	order := undatedLast + `, sperr_orders.created_at DESC, id DESC`
	if f.Due {
		where = append(where, `status = 'pending' AND (`+requested+` <= @today::date OR `+undated(requested)+`)`)
		args["today"] = f.Today
		order = `NOT ` + entsperrungFirst + `, ` + undatedLast + `, sperr_orders.created_at, id`
	}
	if after != nil {
		args["requested"], args["created_at"], args["id"] = after.Requested.value(), after.CreatedAt.value(), after.ID
		if f.Due {
			args["later"] = !after.EntsperrungFirst
			where = append(where, `(NOT `+entsperrungFirst+`, `+undatedLast+`, created_at, id) >
				(@later::boolean, @requested::date, @created_at::timestamptz, @id::uuid)`)
		} else {
			where = append(where, undatedLast+` >= @requested::date AND (`+undatedLast+` > @requested::date
				OR (created_at, id) < (@created_at::timestamptz, @id::uuid))`)
		}
	}
	return `SELECT ` + orderColumns + `, ` + undatedLast + ` AS requested_key, created_at AS created_key
		FROM sperr_orders WHERE ` + strings.Join(where, "\n AND ") + ` ORDER BY ` + order + ` LIMIT @limit`, args
}
