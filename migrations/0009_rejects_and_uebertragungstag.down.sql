-- As on the way up.
DO $$
DECLARE
    until TIMESTAMPTZ := clock_timestamp() + interval '30 seconds';
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    LOOP
        BEGIN
            LOCK TABLE sperr_orders, webhook_rejects IN ACCESS EXCLUSIVE MODE;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            IF clock_timestamp() > until THEN
                RAISE lock_not_available USING MESSAGE =
                    'somebody reads sperr_orders or webhook_rejects for long: end that transaction, then start again';
            END IF;
        END;
        PERFORM pg_sleep(1);
    END LOOP;
END $$;
DROP INDEX sperr_orders_uebertragungstag;
ALTER TABLE sperr_orders DROP COLUMN uebertragungstag;

-- The version before reads a header as one text.
UPDATE webhook_rejects SET headers = (
    SELECT jsonb_object_agg(key, CASE WHEN jsonb_typeof(value) <> 'array' THEN value ELSE to_jsonb(COALESCE((
               SELECT string_agg(one, ', ' ORDER BY place) FROM jsonb_array_elements_text(value) WITH ORDINALITY AS a (one, place)), '')) END)
    FROM jsonb_each(headers))
WHERE EXISTS (SELECT FROM jsonb_each(headers) WHERE jsonb_typeof(value) = 'array');

DROP INDEX webhook_rejects_open;
DROP INDEX webhook_rejects_order;
ALTER TABLE webhook_rejects
    DROP COLUMN settlement,
    DROP COLUMN settled_at,
    DROP COLUMN settled_by,
    DROP COLUMN settlement_reason,
    DROP COLUMN settlement_transaction,
    DROP COLUMN order_id;
