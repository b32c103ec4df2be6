-- Refused deliveries are a work list, and the day on which an ORDERS was received is kept.

-- In full at once, as in 0005. Whoever reads one table for long must not keep everybody
-- from the other meanwhile: each try gives back what it has after two seconds.
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

-- A refused delivery waits for a human until it is settled: given to the queue once more
-- after its cause is gone, or dismissed for a reason.
ALTER TABLE webhook_rejects
    ADD COLUMN settlement             TEXT CHECK (settlement IN ('replayed', 'dismissed')), -- NULL: open
    ADD COLUMN settled_at             TIMESTAMPTZ,
    ADD COLUMN settled_by             TEXT,             -- subject of the caller
    ADD COLUMN settlement_reason      TEXT,             -- a dismissal has one, a replay may
    ADD COLUMN settlement_transaction TEXT,             -- the call that did it
    ADD COLUMN order_id               UUID REFERENCES sperr_orders (id), -- what a replay came to
    ADD CHECK ((settlement IS NULL) = (settled_at IS NULL) AND (settlement IS NULL) = (settled_by IS NULL)),
    ADD CHECK (settlement <> 'dismissed' OR settlement_reason IS NOT NULL);
CREATE INDEX webhook_rejects_open ON webhook_rejects (tenant, first_seen_at DESC, id DESC) WHERE settlement IS NULL;
CREATE INDEX webhook_rejects_order ON webhook_rejects (order_id) WHERE order_id IS NOT NULL; -- for who deletes an order

-- The day the Vorlauffrist is judged by. NULL where an earlier version or SQL put the order
-- in: the day of created_at speaks for it.
ALTER TABLE sperr_orders ADD COLUMN uebertragungstag DATE;
CREATE INDEX sperr_orders_uebertragungstag ON sperr_orders (tenant, uebertragungstag, created_at)
    WHERE process_id IS NOT NULL AND order_type = 'sperrung';
