-- No change of an order is without its line in the history.

-- In full at once, and with patience, as in 0009.
DO $$
DECLARE
    until TIMESTAMPTZ := clock_timestamp() + interval '30 seconds';
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    LOOP
        BEGIN
            LOCK TABLE sperr_orders, sperr_order_history IN ACCESS EXCLUSIVE MODE;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            IF clock_timestamp() > until THEN
                RAISE lock_not_available USING MESSAGE =
                    'somebody reads sperr_orders or sperr_order_history for long: end that transaction, then start again';
            END IF;
        END;
        PERFORM pg_sleep(1);
    END LOOP;
END $$;

-- The transaction that wrote the line, also where it was a replica of an earlier version.
-- NULL: written before this column.
ALTER TABLE sperr_order_history ADD COLUMN xact XID8;
ALTER TABLE sperr_order_history ALTER COLUMN xact SET DEFAULT pg_current_xact_id();

-- Looks, when a transaction ends, whether it has written the line of a change that it has
-- made. sperrd does; for a statement in psql the line is written here.
CREATE FUNCTION sperr_orders_history_complete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before TEXT;
    changed TEXT[] := '{}';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        before := OLD.status;
        IF NEW.status IS DISTINCT FROM OLD.status THEN changed := array_append(changed, 'status'); END IF;
        IF NEW.sperrversuche IS DISTINCT FROM OLD.sperrversuche THEN changed := array_append(changed, 'sperrversuche'); END IF;
        IF NEW.iftsta_dispatched_at IS DISTINCT FROM OLD.iftsta_dispatched_at THEN changed := array_append(changed, 'iftsta_dispatched_at'); END IF;
    END IF;
    IF EXISTS (
        SELECT FROM sperr_order_history
        WHERE tenant = NEW.tenant AND order_id = NEW.id AND xact = pg_current_xact_id()
          AND to_status = NEW.status AND from_status IS NOT DISTINCT FROM before
          AND (before IS DISTINCT FROM NEW.status
            OR 'sperrversuche' = ANY (changed) AND action = 'sperrversuch_failed'
            OR 'iftsta_dispatched_at' = ANY (changed) AND action = 'iftsta_dispatched'
            OR action = 'changed_by_sql' AND detail -> 'columns' = to_jsonb(changed))
    ) THEN
        RETURN NULL;
    END IF;
    INSERT INTO sperr_order_history (tenant, order_id, actor, action, from_status, to_status, detail)
    VALUES (NEW.tenant, NEW.id, COALESCE(NULLIF(current_setting('sperrd.actor', true), ''), 'sql:' || session_user),
            'changed_by_sql', before, NEW.status,
            jsonb_strip_nulls(jsonb_build_object('columns', NULLIF(to_jsonb(changed), '[]'),
                'reason', NULLIF(current_setting('sperrd.reason', true), ''))));
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER sperr_orders_history_of_insert AFTER INSERT ON sperr_orders
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION sperr_orders_history_complete();
CREATE CONSTRAINT TRIGGER sperr_orders_history_of_update AFTER UPDATE ON sperr_orders
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.status, OLD.sperrversuche, OLD.iftsta_dispatched_at)
        IS DISTINCT FROM (NEW.status, NEW.sperrversuche, NEW.iftsta_dispatched_at))
    EXECUTE FUNCTION sperr_orders_history_complete();
