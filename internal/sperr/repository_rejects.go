package sperr

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// WebhookReject is a signed webhook body that was refused. The sender never sends
// it again, so that this copy is what a human works from. It is open until it is settled.
type WebhookReject struct {
	ID          uuid.UUID    `db:"id" json:"id"`
	WebhookID   string       `db:"webhook_id" json:"webhook_id"`
	Status      int          `db:"status" json:"status"` // the HTTP status of the answer
	Code        string       `db:"code" json:"code"`     // the problem code of the answer
	Reason      string       `db:"reason" json:"reason"`
	Count       int          `db:"count" json:"count"` // deliveries of the same body
	FirstSeenAt time.Time    `db:"first_seen_at" json:"first_seen_at"`
	LastSeenAt  time.Time    `db:"last_seen_at" json:"last_seen_at"`
	Headers     EventHeaders `db:"headers" json:"headers,omitempty"`
	Body        []byte       `db:"body" json:"body,omitempty"` // raw; base64 in JSON

	Settlement       *Settlement `db:"settlement" json:"settlement"` // nil: open
	SettledAt        *time.Time  `db:"settled_at" json:"settled_at"`
	SettledBy        *string     `db:"settled_by" json:"settled_by"`
	SettlementReason *string     `db:"settlement_reason" json:"settlement_reason"`
	OrderID          *uuid.UUID  `db:"order_id" json:"order_id"`       // what a replay came to
	RedactedAt       *time.Time  `db:"redacted_at" json:"redacted_at"` // headers, body and reason are replaced since

	// OddFirstSeen is the first receipt where only SQL can have made it, and FirstSeenAt is
	// but the nearest moment that can be shown; nil: it is what it says.
	OddFirstSeen *string `db:"odd_first_seen" json:"-"`
}

// Settlement is how a refused delivery was settled.
type Settlement string

// The two ways to settle one.
const (
	SettlementReplayed  Settlement = "replayed"
	SettlementDismissed Settlement = "dismissed"
)

// EventHeaders are Content-Type, Content-Encoding and the ce-* headers of a delivery, by
// name in lower case. A header that came twice has two values: joined they would be
// another event.
type EventHeaders map[string][]string

// UnmarshalJSON also reads a text in place of the values, which is how earlier versions
// kept them: joined. Where a ce-* text may be two values it is read as two, which no
// replay takes for an event.
func (h *EventHeaders) UnmarshalJSON(raw []byte) error {
	var values map[string]jsontext.Value
	if err := json.Unmarshal(raw, &values); err != nil {
		return err
	}
	*h = make(EventHeaders, len(values))
	for name, value := range values {
		var one string
		var list []string
		if json.Unmarshal(value, &one) == nil && value.Kind() == '"' {
			list = []string{one}
			if strings.HasPrefix(name, "ce-") {
				list = strings.Split(one, ", ")
			}
		} else if err := json.Unmarshal(value, &list); err != nil {
			return err
		}
		(*h)[name] = list
	}
	return nil
}

// keepReject writes a refused delivery, or counts it where it is there. A settled one
// stays as it was settled.
func (r *Repository) keepReject(ctx context.Context, tx pgx.Tx, reject WebhookReject, at time.Time) error {
	headers := reject.Headers
	if headers == nil {
		headers = EventHeaders{}
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO webhook_rejects AS kept
			(tenant, webhook_id, body_hash, headers, body, status, code, reason, first_seen_at, last_seen_at)
		VALUES (@tenant, @webhook_id, @body_hash, @headers, @body, @status, @code, @reason, @at, @at)
		ON CONFLICT (tenant, webhook_id, body_hash) DO UPDATE SET
			count = kept.count + 1, last_seen_at = EXCLUDED.last_seen_at,
			status = CASE WHEN kept.settlement IS NULL THEN EXCLUDED.status ELSE kept.status END,
			code = CASE WHEN kept.settlement IS NULL THEN EXCLUDED.code ELSE kept.code END,
			reason = CASE WHEN kept.settlement IS NULL THEN EXCLUDED.reason ELSE kept.reason END`, pgx.NamedArgs{
		"tenant": r.tenant, "webhook_id": reject.WebhookID, "body_hash": deliveryHash(reject),
		"headers": headers, "body": reject.Body, "status": reject.Status, "code": reject.Code,
		"reason": reject.Reason, "at": at,
	})
	if err != nil {
		return fmt.Errorf("keep the refused delivery %s: %w", reject.WebhookID, err)
	}
	return nil
}

// deliveryHash covers the headers as well: in binary mode they are half of the event. It
// never changes, since rows are found by it that other versions wrote.
func deliveryHash(reject WebhookReject) []byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(reject.Headers)) {
		for _, value := range reject.Headers[name] {
			fmt.Fprintf(h, "%s: %s\n", name, value)
		}
	}
	h.Write([]byte{'\n'})
	h.Write(reject.Body)
	return h.Sum(nil)
}

// The columns of WebhookReject: of a list, and with what is large. In ORDER BY the bare name
// of a moment means the one that is shown.
var (
	rejectColumns = `id, webhook_id, status, code, reason, count,
		` + clamped("first_seen_at") + ` AS first_seen_at, ` + clamped("last_seen_at") + ` AS last_seen_at,
		settlement, CASE WHEN settlement IS NOT NULL THEN ` + clamped("settled_at") + ` END AS settled_at,
		settled_by, settlement_reason, order_id, CASE WHEN redacted_at IS NOT NULL THEN ` + clamped("redacted_at") + ` END AS redacted_at,
		CASE WHEN NOT (` + aMoment("first_seen_at") + `) THEN to_jsonb(first_seen_at) #>> '{}' END AS odd_first_seen`
	wholeRejectColumns = rejectColumns + `, headers, body`
)

// WebhookReject is one refused delivery with its body, or ErrNotFound.
func (r *Repository) WebhookReject(ctx context.Context, id uuid.UUID) (WebhookReject, error) {
	return r.reject(ctx, r.pool, id, "")
}

func (r *Repository) reject(ctx context.Context, q querier, id uuid.UUID, lock string) (WebhookReject, error) {
	rows, err := q.Query(ctx, `SELECT `+wholeRejectColumns+` FROM webhook_rejects WHERE tenant = $1 AND id = $2`+lock, r.tenant, id)
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

// openReject is a refused delivery that tx alone may settle until it ends. It is
// ErrNotFound where there is none and, beside the delivery as it stands, a
// *RejectSettledError where somebody has settled it.
func (r *Repository) openReject(ctx context.Context, tx pgx.Tx, id uuid.UUID) (WebhookReject, error) {
	reject, err := r.reject(ctx, tx, id, ` FOR NO KEY UPDATE`)
	if err == nil && reject.Settlement != nil {
		err = &RejectSettledError{Reject: reject}
	}
	return reject, err
}

// settling is how a refused delivery is settled, by whom, why and when.
type settling struct {
	settlement    Settlement
	actor, reason string
	transactionID string    // empty: none
	orderID       uuid.UUID // zero: none
	at            time.Time
}

// settle ends the work on a refused delivery that openReject has locked.
func (r *Repository) settle(ctx context.Context, tx pgx.Tx, id uuid.UUID, s settling) error {
	tag, err := tx.Exec(ctx, `
		UPDATE webhook_rejects SET
			settlement = @settlement, settled_at = @at, settled_by = @actor, settlement_reason = NULLIF(@reason, ''),
			settlement_transaction = NULLIF(@transaction_id, ''), order_id = @order_id
		WHERE tenant = @tenant AND id = @id AND `+unsettled, pgx.NamedArgs{
		"tenant": r.tenant, "id": id, "settlement": s.settlement, "at": s.at, "actor": s.actor, "reason": s.reason,
		"transaction_id": s.transactionID, "order_id": uuid.NullUUID{UUID: s.orderID, Valid: s.orderID != uuid.Nil},
	})
	if err == nil && tag.RowsAffected() != 1 {
		err = errors.New("it is not open")
	}
	if err != nil {
		return fmt.Errorf("settle the refused delivery %s: %w", id, err)
	}
	return nil
}
