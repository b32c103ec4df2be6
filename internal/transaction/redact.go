package transaction

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Redact replaces, in the answers that are kept for operations on orders, the texts of the
// named members by text, wherever they stand in the JSON, and returns how many answers it
// changed. A body that is no JSON becomes text. Who repeats such a call gets the answer as
// it stands then.
func (s *Store) Redact(ctx context.Context, tx pgx.Tx, orders []uuid.UUID, members []string, text string) (changed int, err error) {
	rows, err := tx.Query(ctx, `
		SELECT logical_id, response_body FROM api_transactions
		WHERE tenant = $1 AND order_id = ANY ($2) AND response_body <> '' ORDER BY logical_id FOR UPDATE`, s.tenant, orders)
	if err != nil {
		return 0, fmt.Errorf("find the answers of orders: %w", err)
	}
	hidden := make(map[string]bool, len(members))
	for _, member := range members {
		hidden[member] = true
	}
	var ids []string
	var bodies [][]byte
	var id string
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		if redacted := redactBody(body, hidden, text); !bytes.Equal(redacted, body) {
			ids, bodies = append(ids, id), append(bodies, redacted)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("find the answers of orders: %w", err)
	}
	_, err = tx.Exec(ctx, `
		UPDATE api_transactions t SET response_body = r.body
		FROM unnest($2::text[], $3::bytea[]) AS r (logical_id, body)
		WHERE t.tenant = $1 AND t.logical_id = r.logical_id`, s.tenant, ids, bodies)
	if err != nil {
		return 0, fmt.Errorf("replace the answers of orders: %w", err)
	}
	return len(ids), nil
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
