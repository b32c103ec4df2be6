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

// Redact replaces, in the answers that are kept for operations on orders, the texts of the
// named members by text, wherever they stand in the JSON, and returns how many answers it
// changed. A body that is no JSON becomes text. Who repeats such a call gets the answer as
// it stands then.
func (s *Store) Redact(ctx context.Context, tx pgx.Tx, orders []uuid.UUID, members []string, text string) (changed int, err error) {
	answers, err := s.answers(ctx, tx, `order_id = ANY (@orders) ORDER BY logical_id`, pgx.NamedArgs{"orders": orders})
	if err != nil {
		return 0, err
	}
	return s.redact(ctx, tx, answers, members, text)
}

// maxRedacted bounds what RedactOlder does at once.
const maxRedacted = 500

// RedactOlder is Redact for operations of before a time that came to no order, such as a
// creation that was refused, for a number of them after one in the order of their ids. It
// returns the last; none is left where that is empty.
func (s *Store) RedactOlder(ctx context.Context, tx pgx.Tx, before time.Time, after string, members []string, text string) (changed int, last string, err error) {
	answers, err := s.answers(ctx, tx, `order_id IS NULL AND created_at < @before AND logical_id > @after ORDER BY logical_id LIMIT @limit`,
		pgx.NamedArgs{"before": before, "after": after, "limit": maxRedacted})
	if err != nil {
		return 0, "", err
	}
	if len(answers) == maxRedacted {
		last = answers[maxRedacted-1].LogicalID
	}
	changed, err = s.redact(ctx, tx, answers, members, text)
	return changed, last, err
}

// keptAnswer is the body of the answer to an operation.
type keptAnswer struct {
	LogicalID    string
	ResponseBody []byte
}

func (s *Store) answers(ctx context.Context, tx pgx.Tx, which string, args pgx.NamedArgs) ([]keptAnswer, error) {
	args["tenant"] = s.tenant
	rows, err := tx.Query(ctx, `
		SELECT logical_id, response_body FROM api_transactions
		WHERE tenant = @tenant AND response_body <> '' AND `+which+` FOR UPDATE`, args)
	if err != nil {
		return nil, fmt.Errorf("find the answers: %w", err)
	}
	answers, err := pgx.CollectRows(rows, pgx.RowToStructByName[keptAnswer])
	if err != nil {
		return nil, fmt.Errorf("find the answers: %w", err)
	}
	return answers, nil
}

func (s *Store) redact(ctx context.Context, tx pgx.Tx, answers []keptAnswer, members []string, text string) (changed int, err error) {
	hidden := make(map[string]bool, len(members))
	for _, member := range members {
		hidden[member] = true
	}
	var ids []string
	var bodies [][]byte
	for _, a := range answers {
		if redacted := redactBody(a.ResponseBody, hidden, text); !bytes.Equal(redacted, a.ResponseBody) {
			ids, bodies = append(ids, a.LogicalID), append(bodies, redacted)
		}
	}
	_, err = tx.Exec(ctx, `
		UPDATE api_transactions t SET response_body = r.body
		FROM unnest($2::text[], $3::bytea[]) AS r (logical_id, body)
		WHERE t.tenant = $1 AND t.logical_id = r.logical_id`, s.tenant, ids, bodies)
	if err != nil {
		return 0, fmt.Errorf("replace the answers: %w", err)
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
