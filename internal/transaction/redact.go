package transaction

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Redaction is what of the answers that are kept is replaced, and by what.
type Redaction struct {
	Members []string // whose texts are replaced, wherever they stand in the JSON
	Text    string   // by this; a body that is no JSON becomes it
	At      time.Time
}

// RedactOrders replaces texts in the answers to operations on orders, and returns how many
// answers it changed. Who repeats such a call gets the answer as it stands then.
func (s *Store) RedactOrders(ctx context.Context, tx pgx.Tx, orders []uuid.UUID, r Redaction) (changed int, err error) {
	changed, _, err = s.redact(ctx, tx, `order_id = ANY (@orders)`, pgx.NamedArgs{"orders": orders}, r)
	return changed, err
}

// RedactOlder is RedactOrders for at most limit operations of before a time that came to no
// order, such as a creation that was refused, or to one that is redacted already. It
// returns how many it has looked at, too: there may be more if that is limit.
func (s *Store) RedactOlder(ctx context.Context, tx pgx.Tx, before time.Time, limit int, r Redaction) (changed, seen int, err error) {
	return s.redact(ctx, tx, `created_at < @before
		AND (order_id IS NULL OR EXISTS (SELECT FROM sperr_orders o WHERE o.id = t.order_id AND o.redacted_at IS NOT NULL))
		ORDER BY created_at LIMIT @limit`, pgx.NamedArgs{"before": before, "limit": limit}, r)
}

func (s *Store) redact(ctx context.Context, tx pgx.Tx, which string, args pgx.NamedArgs, r Redaction) (changed, seen int, err error) {
	args["tenant"] = s.tenant
	rows, err := tx.Query(ctx, `
		SELECT logical_id, response_body FROM api_transactions t
		WHERE tenant = @tenant AND redacted_at IS NULL AND response_body <> '' AND `+which+` FOR UPDATE OF t`, args)
	if err != nil {
		return 0, 0, fmt.Errorf("find the answers: %w", err)
	}
	hidden := make(map[string]bool, len(r.Members))
	for _, member := range r.Members {
		hidden[member] = true
	}
	var ids []string
	var bodies [][]byte
	var id string
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		redacted := redactBody(body, hidden, r.Text)
		if !bytes.Equal(redacted, body) {
			changed++
		}
		ids, bodies = append(ids, id), append(bodies, redacted)
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("find the answers: %w", err)
	}
	_, err = tx.Exec(ctx, `
		UPDATE api_transactions t SET response_body = r.body, redacted_at = $4
		FROM unnest($2::text[], $3::bytea[]) AS r (logical_id, body)
		WHERE t.tenant = $1 AND t.logical_id = r.logical_id`, s.tenant, ids, bodies, r.At)
	if err != nil {
		return 0, 0, fmt.Errorf("replace the answers: %w", err)
	}
	return changed, len(ids), nil
}

func redactBody(body []byte, hidden map[string]bool, text string) []byte {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // a number stays as it is written
	var value any
	if err := decoder.Decode(&value); err != nil {
		return []byte(text)
	}
	if !redactValue(value, hidden, text) {
		return body
	}
	var redacted bytes.Buffer
	encoder := json.NewEncoder(&redacted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return []byte(text)
	}
	return bytes.TrimRight(redacted.Bytes(), "\n")
}

// redactValue replaces texts within value, and reports whether there were any.
func redactValue(value any, hidden map[string]bool, text string) (changed bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if list, isList := member.([]any); hidden[name] && isList {
				for i := range list {
					list[i], changed = text, true
				}
			} else if was, isText := member.(string); hidden[name] && isText && was != text && was != "" {
				v[name], changed = text, true
			} else if redactValue(member, hidden, text) {
				changed = true
			}
		}
	case []any:
		for _, element := range v {
			changed = redactValue(element, hidden, text) || changed
		}
	}
	return changed
}
