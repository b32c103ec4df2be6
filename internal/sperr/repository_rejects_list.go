package sperr

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// RejectStatus says which refused deliveries a list shows.
type RejectStatus string

// RejectsOpen are those that wait for a human, and the default.
const RejectsOpen RejectStatus = "open"

// unsettled is also the condition of the index of the work list.
const unsettled = `settlement IS NULL`

var rejectConditions = map[RejectStatus]string{
	RejectsOpen:                       unsettled,
	RejectStatus(SettlementReplayed):  `settlement = 'replayed'`,
	RejectStatus(SettlementDismissed): `settlement = 'dismissed'`,
	"all":                             `true`,
}

// RejectStatuses are all there are.
func RejectStatuses() []RejectStatus { return slices.Sorted(maps.Keys(rejectConditions)) }

// RejectsFilter selects refused deliveries for WebhookRejects.
type RejectsFilter struct {
	Status RejectStatus // one of RejectStatuses
	Code   string       // the problem code of the answer; empty: any
	Limit  int          // rows at most, at least 1
	Cursor string       // of the page before, empty: from the start
}

// RejectsPage is one page of refused deliveries; Next is empty on the last one.
type RejectsPage struct {
	Rejects []WebhookReject
	Next    string
}

// rejectsCursor is the sort key of the last row of a page, with what the list was asked for.
type rejectsCursor struct {
	Status      RejectStatus `json:"s"`
	Code        string       `json:"c,omitempty"`
	FirstSeenAt momentKey    `json:"f"`
	ID          uuid.UUID    `json:"i"`
}

// listedReject is a refused delivery with its sort key as the database has it.
type listedReject struct {
	WebhookReject
	FirstSeenKey pgtype.Timestamptz `db:"first_seen_key"`
}

// WebhookRejects lists refused deliveries, newest first, without their bodies and
// headers. A foreign or broken cursor, and that of another question, is ErrCursor.
func (r *Repository) WebhookRejects(ctx context.Context, f RejectsFilter) (RejectsPage, error) {
	sql, args, err := rejectsQuery(f)
	if err != nil {
		return RejectsPage{}, err
	}
	args["tenant"] = r.tenant
	rows, err := r.pool.Query(ctx, sql, args)
	if err != nil {
		return RejectsPage{}, fmt.Errorf("list refused deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[listedReject])
	if err != nil {
		return RejectsPage{}, fmt.Errorf("list refused deliveries: %w", err)
	}
	page := RejectsPage{Rejects: make([]WebhookReject, min(len(list), f.Limit))}
	for i := range page.Rejects {
		page.Rejects[i] = list[i].WebhookReject
	}
	if len(list) > f.Limit {
		page.Next, err = encodeRejectsCursor(f, list[f.Limit-1])
	}
	return page, err
}

// rejectsQuery is the statement of a list and its arguments but the tenant.
func rejectsQuery(f RejectsFilter) (string, pgx.NamedArgs, error) {
	condition, known := rejectConditions[f.Status]
	if !known {
		return "", nil, fmt.Errorf("list refused deliveries: there is no status %q", f.Status)
	}
	where := []string{"tenant = @tenant", condition}
	args := pgx.NamedArgs{"limit": f.Limit + 1}
	if f.Code != "" {
		where = append(where, "code = @code")
		args["code"] = f.Code
	}
	if f.Cursor != "" {
		after, err := decodeRejectsCursor(f)
		if err != nil {
			return "", nil, err
		}
		where = append(where, "(first_seen_at, id) < (@first_seen_at::timestamptz, @id::uuid)")
		args["first_seen_at"], args["id"] = after.FirstSeenAt.value(), after.ID
	}
	return `SELECT ` + rejectColumns + `, first_seen_at AS first_seen_key FROM webhook_rejects WHERE ` + strings.Join(where, " AND ") +
		` ORDER BY webhook_rejects.first_seen_at DESC, id DESC LIMIT @limit`, args, nil
}

func encodeRejectsCursor(f RejectsFilter, last listedReject) (string, error) {
	raw, err := json.Marshal(rejectsCursor{Status: f.Status, Code: f.Code, FirstSeenAt: momentKeyOf(last.FirstSeenKey), ID: last.ID})
	if err != nil {
		return "", fmt.Errorf("list refused deliveries: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

func decodeRejectsCursor(f RejectsFilter) (c rejectsCursor, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(f.Cursor)
	if err != nil || json.Unmarshal(raw, &c, json.RejectUnknownMembers(true)) != nil {
		return c, ErrCursor
	}
	if c.ID == uuid.Nil || c.Status != f.Status || c.Code != f.Code || !c.FirstSeenAt.exists() {
		return c, ErrCursor
	}
	return c, nil
}
