-- The trace that a change belongs to is kept with it, and what of closed orders was
-- replaced because it was kept for long enough.

-- Takes tables in full at once, as in 0005, and with patience, as in 0009: for this file and
-- those that follow.
CREATE FUNCTION sperrd_lock_tables(VARIADIC tables TEXT[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    until TIMESTAMPTZ := clock_timestamp() + interval '30 seconds';
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    LOOP
        BEGIN
            EXECUTE 'LOCK TABLE ' || array_to_string(tables, ', ') || ' IN ACCESS EXCLUSIVE MODE';
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            IF clock_timestamp() > until THEN
                RAISE lock_not_available USING MESSAGE =
                    'somebody reads ' || array_to_string(tables, ' or ') || ' for long: end that transaction, then start again';
            END IF;
        END;
        PERFORM pg_sleep(1);
    END LOOP;
END $$;
SELECT sperrd_lock_tables('sperr_orders', 'webhook_rejects', 'event_outbox');

ALTER TABLE sperr_orders
    ADD COLUMN traceparent           TEXT,          -- W3C, of the request that brought the order
    ADD COLUMN abschluss_traceparent TEXT,          -- W3C, of the request that reported its outcome
    ADD COLUMN redacted_at           TIMESTAMPTZ;   -- when address and free text were replaced; NULL: they stand
ALTER TABLE event_outbox
    ADD COLUMN traceparent TEXT;                    -- W3C, of the change that the event tells of
ALTER TABLE webhook_rejects
    ADD COLUMN redacted_at TIMESTAMPTZ;             -- when headers and body were replaced; NULL: they stand

-- What retention has not looked at yet. By created_at, which never changes: an index over
-- updated_at would be written with every attempt of an IFTSTA. Orders kept for long
-- enough leave it.
CREATE INDEX sperr_orders_unredacted ON sperr_orders (tenant, created_at, id)
    WHERE status <> 'pending' AND redacted_at IS NULL;
CREATE INDEX webhook_rejects_unredacted ON webhook_rejects (tenant, settled_at)
    WHERE settlement IS NOT NULL AND redacted_at IS NULL;
