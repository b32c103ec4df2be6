-- In full at once, as in 0005, and in the order in which a call takes them.
LOCK TABLE api_transaction_attempts, api_transactions, sperr_orders, sperr_order_history IN ACCESS EXCLUSIVE MODE;
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
ALTER TABLE sperr_order_history DROP COLUMN transaction_id;
DROP INDEX sperr_orders_erstellt_transaktion;
ALTER TABLE sperr_orders
    DROP COLUMN webhook_id, DROP COLUMN event_id, DROP COLUMN erstellt_transaktion,
    DROP COLUMN letzter_versuch_transaktion, DROP COLUMN abschluss_transaktion, DROP COLUMN iftsta_transaktion;
DROP TABLE api_transaction_attempts;
DROP TABLE api_transactions;
