-- In full at once: raised later, for DROP INDEX, it would deadlock with a transaction
-- that has read an order and now writes it.
LOCK TABLE sperr_orders IN ACCESS EXCLUSIVE MODE;
DROP TRIGGER sperr_orders_iftsta_reset ON sperr_orders;
CREATE TRIGGER sperr_orders_iftsta_reset
    BEFORE UPDATE OF iftsta_attempts ON sperr_orders
    FOR EACH ROW
    WHEN (NEW.iftsta_attempts = 0
          AND NEW.iftsta_next_attempt_at IS NOT DISTINCT FROM OLD.iftsta_next_attempt_at
          AND OLD.status IN ('executed', 'failed') AND OLD.process_id IS NOT NULL
          AND OLD.iftsta_dispatched_at IS NULL AND NEW.iftsta_dispatched_at IS NULL)
    EXECUTE FUNCTION sperr_orders_iftsta_reset();
CREATE OR REPLACE FUNCTION sperr_orders_iftsta_reset() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.iftsta_next_attempt_at := now();
    NEW.iftsta_escalated_at    := NULL;
    NEW.iftsta_resets          := OLD.iftsta_resets + 1;
    NEW.updated_at             := now();
    INSERT INTO sperr_order_history (tenant, order_id, actor, action, from_status, to_status, detail)
    VALUES (NEW.tenant, NEW.id, COALESCE(NULLIF(current_setting('sperrd.actor', true), ''), 'sql:' || session_user),
            'iftsta_reset', OLD.status, NEW.status,
            jsonb_build_object('attempts', OLD.iftsta_attempts, 'reset', OLD.iftsta_resets + 1));
    RETURN NEW;
END $$;
CREATE INDEX sperr_orders_iftsta_outstanding ON sperr_orders (tenant, iftsta_next_attempt_at)
    WHERE status IN ('executed', 'failed') AND process_id IS NOT NULL AND iftsta_dispatched_at IS NULL;
DROP INDEX sperr_orders_iftsta_unannounced;
DROP INDEX sperr_orders_iftsta_due;
ALTER TABLE sperr_orders DROP COLUMN iftsta_in_flight, DROP COLUMN iftsta_frist_gemeldet;
