-- As on the way up.
DO $$
DECLARE
    until TIMESTAMPTZ := clock_timestamp() + interval '30 seconds';
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    LOOP
        BEGIN
            LOCK TABLE sperr_orders, webhook_rejects, event_outbox IN ACCESS EXCLUSIVE MODE;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            IF clock_timestamp() > until THEN
                RAISE lock_not_available USING MESSAGE =
                    'somebody reads sperr_orders, webhook_rejects or event_outbox for long: end that transaction, then start again';
            END IF;
        END;
        PERFORM pg_sleep(1);
    END LOOP;
END $$;
DROP INDEX webhook_rejects_unredacted;
DROP INDEX sperr_orders_unredacted;
ALTER TABLE webhook_rejects DROP COLUMN redacted_at;
ALTER TABLE event_outbox DROP COLUMN traceparent;
ALTER TABLE sperr_orders DROP COLUMN redacted_at, DROP COLUMN abschluss_traceparent, DROP COLUMN traceparent;
