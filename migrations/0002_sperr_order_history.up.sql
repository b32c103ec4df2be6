-- Who did what to an order, and when. Append only. It holds no market text, no
-- field note and no address; an operator's reason may stand in detail.
CREATE TABLE sperr_order_history (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant      TEXT NOT NULL,
    order_id    UUID NOT NULL REFERENCES sperr_orders (id),
    at          TIMESTAMPTZ NOT NULL DEFAULT now(),
    actor       TEXT NOT NULL,
    action      TEXT NOT NULL,
    from_status TEXT,                                   -- NULL: the order did not exist before
    to_status   TEXT NOT NULL,
    detail      JSONB NOT NULL DEFAULT '{}'
);
CREATE INDEX sperr_order_history_order ON sperr_order_history (tenant, order_id, id);

CREATE FUNCTION sperr_order_history_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'sperr_order_history is append only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER sperr_order_history_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON sperr_order_history
    FOR EACH STATEMENT EXECUTE FUNCTION sperr_order_history_append_only();

-- Setting iftsta_attempts to 0 is how a human says "try again", from psql too: it
-- begins a new cycle at once. A statement that also moves iftsta_next_attempt_at
-- is the service giving an attempt back, and no reset.
CREATE FUNCTION sperr_orders_iftsta_reset() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER sperr_orders_iftsta_reset
    BEFORE UPDATE OF iftsta_attempts ON sperr_orders
    FOR EACH ROW
    WHEN (NEW.iftsta_attempts = 0
          AND NEW.iftsta_next_attempt_at IS NOT DISTINCT FROM OLD.iftsta_next_attempt_at
          AND OLD.status IN ('executed', 'failed') AND OLD.process_id IS NOT NULL
          AND OLD.iftsta_dispatched_at IS NULL AND NEW.iftsta_dispatched_at IS NULL)
    EXECUTE FUNCTION sperr_orders_iftsta_reset();
