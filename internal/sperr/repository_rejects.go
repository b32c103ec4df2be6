package sperr

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// WebhookReject is a signed webhook body that was refused. The sender never sends
// it again, so that this copy is what a human works from.
type WebhookReject struct {
	ID          uuid.UUID         `db:"id" json:"id"`
	WebhookID   string            `db:"webhook_id" json:"webhook_id"`
	Status      int               `db:"status" json:"status"` // the HTTP status of the answer
	Code        string            `db:"code" json:"code"`     // the problem code of the answer
	Reason      string            `db:"reason" json:"reason"`
	Count       int               `db:"count" json:"count"` // deliveries of the same body
	FirstSeenAt time.Time         `db:"first_seen_at" json:"first_seen_at"`
	LastSeenAt  time.Time         `db:"last_seen_at" json:"last_seen_at"`
	Headers     map[string]string `db:"headers" json:"headers,omitempty"` // Content-Type and ce-*
	Body        []byte            `db:"body" json:"body,omitempty"`       // raw; base64 in JSON
}

func (r *Repository) keepReject(ctx context.Context, tx pgx.Tx, reject WebhookReject, at time.Time) error {
	headers := reject.Headers
	if headers == nil {
		headers = map[string]string{}
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO webhook_rejects
			(tenant, webhook_id, body_hash, headers, body, status, code, reason, first_seen_at, last_seen_at)
		VALUES (@tenant, @webhook_id, @body_hash, @headers, @body, @status, @code, @reason, @at, @at)
		ON CONFLICT (tenant, webhook_id, body_hash) DO UPDATE SET
			count = webhook_rejects.count + 1, last_seen_at = EXCLUDED.last_seen_at,
			status = EXCLUDED.status, code = EXCLUDED.code, reason = EXCLUDED.reason`, pgx.NamedArgs{
		"tenant": r.tenant, "webhook_id": reject.WebhookID, "body_hash": deliveryHash(reject),
		"headers": headers, "body": reject.Body, "status": reject.Status, "code": reject.Code,
		"reason": reject.Reason, "at": at,
	})
	if err != nil {
		return fmt.Errorf("keep the refused delivery %s: %w", reject.WebhookID, err)
	}
	return nil
}

// deliveryHash covers the headers as well: in binary mode they are half of the event.
func deliveryHash(reject WebhookReject) []byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(reject.Headers)) {
		fmt.Fprintf(h, "%s: %s\n", name, reject.Headers[name])
	}
	h.Write([]byte{'\n'})
	h.Write(reject.Body)
	return h.Sum(nil)
}

// RejectsPage is one page of refused deliveries; Next is empty on the last one.
type RejectsPage struct {
	Rejects []WebhookReject
	Next    string
}

type rejectsCursor struct {
	FirstSeenAt time.Time `json:"f"`
	ID          uuid.UUID `json:"i"`
}

// WebhookRejects lists refused deliveries, newest first, without their bodies and
// headers. A foreign or broken cursor is ErrCursor.
func (r *Repository) WebhookRejects(ctx context.Context, limit int, cursor string) (RejectsPage, error) {
	after := rejectsCursor{}
	if cursor != "" {
		raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
		if err != nil || json.Unmarshal(raw, &after, json.RejectUnknownMembers(true)) != nil || after.ID == uuid.Nil {
			return RejectsPage{}, ErrCursor
		}
	}
	rows, err := r.pool.Query(ctx, `
		SELECT id, webhook_id, status, code, reason, count, first_seen_at, last_seen_at
		FROM webhook_rejects
		WHERE tenant = $1 AND ($2 OR (first_seen_at, id) < ($3, $4))
		ORDER BY first_seen_at DESC, id DESC LIMIT $5`,
		r.tenant, cursor == "", after.FirstSeenAt, after.ID, limit+1)
	if err != nil {
		return RejectsPage{}, fmt.Errorf("list refused deliveries: %w", err)
	}
	rejects, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[WebhookReject])
	if err != nil {
		return RejectsPage{}, fmt.Errorf("list refused deliveries: %w", err)
	}
	if len(rejects) <= limit {
		return RejectsPage{Rejects: rejects}, nil
	}
	rejects = rejects[:limit]
	last := rejects[limit-1]
	raw, err := json.Marshal(rejectsCursor{FirstSeenAt: last.FirstSeenAt, ID: last.ID})
	if err != nil {
		return RejectsPage{}, fmt.Errorf("list refused deliveries: %w", err)
	}
	return RejectsPage{Rejects: rejects, Next: base64.RawURLEncoding.EncodeToString(raw)}, nil
}

// WebhookReject is one refused delivery with its body, or ErrNotFound.
func (r *Repository) WebhookReject(ctx context.Context, id uuid.UUID) (WebhookReject, error) {
	rows, err := r.pool.Query(ctx, `
		SELECT id, webhook_id, status, code, reason, count, first_seen_at, last_seen_at, headers, body
		FROM webhook_rejects WHERE tenant = $1 AND id = $2`, r.tenant, id)
	if err != nil {
		return WebhookReject{}, fmt.Errorf("get refused delivery %s: %w", id, err)
	}
	reject, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[WebhookReject])
	if errors.Is(err, pgx.ErrNoRows) {
		return WebhookReject{}, fmt.Errorf("refused delivery %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return WebhookReject{}, fmt.Errorf("get refused delivery %s: %w", id, err)
	}
	return reject, nil
}
