package outbox

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Redact replaces the free texts in the events of orders by text, and returns how many
// events it changed. An event that waits, or that is requeued later, goes out with text.
func Redact(ctx context.Context, tx pgx.Tx, tenant string, orders []uuid.UUID, text string) (changed int, err error) {
	tag, err := tx.Exec(ctx, `
		UPDATE event_outbox e SET envelope = jsonb_set(e.envelope, '{data}', redacted.data)
		FROM (
			SELECT o.id, o.envelope -> 'data' || inner_texts.texts || CASE WHEN jsonb_typeof(o.envelope #> '{data,detail}') = 'object'
				THEN jsonb_build_object('detail', o.envelope #> '{data,detail}' || detail_texts.texts) ELSE '{}' END AS data
			FROM event_outbox o,
			LATERAL (SELECT COALESCE(jsonb_object_agg(key, @text::text), '{}') AS texts FROM jsonb_each(o.envelope -> 'data')
				WHERE key IN ('grund', 'last_error') AND jsonb_typeof(value) = 'string' AND value <> '""') AS inner_texts,
			LATERAL (SELECT COALESCE(jsonb_object_agg(key, @text::text), '{}') AS texts
				FROM jsonb_each(CASE WHEN jsonb_typeof(o.envelope #> '{data,detail}') = 'object' THEN o.envelope #> '{data,detail}' END)
				WHERE key IN ('note', 'reason') AND jsonb_typeof(value) = 'string') AS detail_texts
			WHERE o.tenant = @tenant AND o.order_id = ANY (@orders) AND jsonb_typeof(o.envelope -> 'data') = 'object'
		) AS redacted
		WHERE e.id = redacted.id AND e.envelope -> 'data' <> redacted.data`,
		pgx.NamedArgs{"tenant": tenant, "orders": orders, "text": text})
	if err != nil {
		return 0, fmt.Errorf("replace the texts of events: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
