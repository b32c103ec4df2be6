-- What the retry queue of the IFTSTA needs beside its lease column.

-- In full at once: raised later, for DROP INDEX, it would deadlock with a transaction
-- that has read an order and now writes it.
LOCK TABLE sperr_orders IN ACCESS EXCLUSIVE MODE;

-- Somebody sends the outcome now, until iftsta_next_attempt_at at most. It tells a
-- lease from a backoff, which are the same column.
ALTER TABLE sperr_orders ADD COLUMN iftsta_in_flight BOOLEAN NOT NULL DEFAULT false;

-- The Frist needs no announcement any more: it was announced, or had passed already when
-- somebody began a new cycle of attempts. The trigger below reads the Berlin day itself,
-- since a reset from psql has nobody to give it one.
ALTER TABLE sperr_orders ADD COLUMN iftsta_frist_gemeldet BOOLEAN NOT NULL DEFAULT false;

-- The claim takes the least tried outcomes first, so that a thousand that makod keeps
-- refusing stand behind the one that it has not seen yet, and those whose attempts
-- are spent are never walked over.
CREATE INDEX sperr_orders_iftsta_due ON sperr_orders (tenant, iftsta_attempts, iftsta_next_attempt_at)
    WHERE status IN ('executed', 'failed') AND process_id IS NOT NULL AND iftsta_dispatched_at IS NULL;
DROP INDEX sperr_orders_iftsta_outstanding;
-- What may still have to be announced as de.sperr.iftsta.ausstehend.
CREATE INDEX sperr_orders_iftsta_unannounced ON sperr_orders (tenant, iftsta_faellig_am)
    WHERE status IN ('executed', 'failed') AND process_id IS NOT NULL AND iftsta_dispatched_at IS NULL
      AND iftsta_escalated_at IS NULL;

-- A reset begins a new cycle at once, but never while somebody sends: two commands
-- under one key must not meet in makod. The send under way ends or its lease does,
-- and the new cycle begins then.
CREATE OR REPLACE FUNCTION sperr_orders_iftsta_reset() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT OLD.iftsta_in_flight THEN
        NEW.iftsta_next_attempt_at := now();
    ELSE
        NEW.iftsta_next_attempt_at := GREATEST(OLD.iftsta_next_attempt_at, now());
    END IF;
    NEW.iftsta_escalated_at   := NULL;
    NEW.iftsta_resets         := OLD.iftsta_resets + 1;
    NEW.iftsta_frist_gemeldet := OLD.iftsta_frist_gemeldet
        OR COALESCE(OLD.iftsta_faellig_am < (now() AT TIME ZONE 'Europe/Berlin')::date, false);
    NEW.updated_at            := now();
    INSERT INTO sperr_order_history (tenant, order_id, actor, action, from_status, to_status, detail)
    VALUES (NEW.tenant, NEW.id, COALESCE(NULLIF(current_setting('sperrd.actor', true), ''), 'sql:' || session_user),
            'iftsta_reset', OLD.status, NEW.status,
            jsonb_strip_nulls(jsonb_build_object('attempts', OLD.iftsta_attempts, 'reset', OLD.iftsta_resets + 1,
                'reason', NULLIF(current_setting('sperrd.reason', true), ''))));
    RETURN NEW;
END $$;

-- What ends a claim turns iftsta_in_flight, a reset does not: giving an attempt back is no
-- reset, also where it moves iftsta_next_attempt_at to the very moment at which it stood.
DROP TRIGGER sperr_orders_iftsta_reset ON sperr_orders;
CREATE TRIGGER sperr_orders_iftsta_reset
    BEFORE UPDATE OF iftsta_attempts ON sperr_orders
    FOR EACH ROW
    WHEN (NEW.iftsta_attempts = 0
          AND NEW.iftsta_next_attempt_at IS NOT DISTINCT FROM OLD.iftsta_next_attempt_at
          AND NEW.iftsta_in_flight = OLD.iftsta_in_flight
          AND OLD.status IN ('executed', 'failed') AND OLD.process_id IS NOT NULL
          AND OLD.iftsta_dispatched_at IS NULL AND NEW.iftsta_dispatched_at IS NULL)
    EXECUTE FUNCTION sperr_orders_iftsta_reset();
