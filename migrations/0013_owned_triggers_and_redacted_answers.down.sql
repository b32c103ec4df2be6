-- As on the way up.
SELECT sperrd_lock_tables('api_transactions', 'sperr_orders');
DROP TRIGGER sperr_orders_history_of_update ON sperr_orders;
CREATE CONSTRAINT TRIGGER sperr_orders_history_of_update AFTER UPDATE ON sperr_orders
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.status, OLD.sperrversuche, OLD.iftsta_dispatched_at, OLD.iftsta_ref,
        OLD.tenant, OLD.malo_id, OLD.lf_mp_id, OLD.order_type, OLD.pruefidentifikator, OLD.process_id,
        OLD.ausfuehrung_am, OLD.ausfuehrung_zeitpunkt, OLD.fruehestens_am, OLD.arbeitszeit, OLD.hinweis,
        OLD.treffpunkt_hinweis, OLD.treffpunkt_strasse, OLD.treffpunkt_plz, OLD.treffpunkt_ort, OLD.treffpunkt_land,
        OLD.ausfuehrung_faellig_am, OLD.iftsta_faellig_am,
        OLD.vorlauffrist_eingehalten, OLD.vorlauffrist_spaetester_ut, OLD.uebertragungstag,
        OLD.letzter_versuch_am, OLD.letzter_versuch_grund, OLD.executed_at, OLD.execution_note, OLD.fail_reason, OLD.pruefschritt_code)
        IS DISTINCT FROM (NEW.status, NEW.sperrversuche, NEW.iftsta_dispatched_at, NEW.iftsta_ref,
        NEW.tenant, NEW.malo_id, NEW.lf_mp_id, NEW.order_type, NEW.pruefidentifikator, NEW.process_id,
        NEW.ausfuehrung_am, NEW.ausfuehrung_zeitpunkt, NEW.fruehestens_am, NEW.arbeitszeit, NEW.hinweis,
        NEW.treffpunkt_hinweis, NEW.treffpunkt_strasse, NEW.treffpunkt_plz, NEW.treffpunkt_ort, NEW.treffpunkt_land,
        NEW.ausfuehrung_faellig_am, NEW.iftsta_faellig_am,
        NEW.vorlauffrist_eingehalten, NEW.vorlauffrist_spaetester_ut, NEW.uebertragungstag,
        NEW.letzter_versuch_am, NEW.letzter_versuch_grund, NEW.executed_at, NEW.execution_note, NEW.fail_reason, NEW.pruefschritt_code))
    EXECUTE FUNCTION sperr_orders_history_complete();

-- A function that is replaced has the rights of its caller and his search_path.
ALTER FUNCTION sperr_order_history_append_only() RESET search_path;
ALTER FUNCTION sperr_order_totals_keep_types() RESET search_path;
CREATE OR REPLACE FUNCTION sperr_orders_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sperr_order_totals (tenant, status, order_type, vorlauffrist_verletzt, n)
    SELECT tenant, status, type, eingehalten IS FALSE, n
    FROM (VALUES (OLD.tenant, OLD.status, OLD.order_type, OLD.vorlauffrist_eingehalten, -1),
                 (NEW.tenant, NEW.status, NEW.order_type, NEW.vorlauffrist_eingehalten, 1))
        AS change (tenant, status, type, eingehalten, n)
    WHERE status <> 'pending';
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION sperr_orders_count_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE sperr_order_totals;
    RETURN NULL;
END $$;
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
    INSERT INTO sperr_order_history (tenant, order_id, actor, action, from_status, to_status, detail, transaction_id)
    VALUES (NEW.tenant, NEW.id, COALESCE(NULLIF(current_setting('sperrd.actor', true), ''), 'sql:' || session_user),
            'iftsta_reset', OLD.status, NEW.status,
            jsonb_strip_nulls(jsonb_build_object('attempts', OLD.iftsta_attempts, 'reset', OLD.iftsta_resets + 1,
                'reason', NULLIF(current_setting('sperrd.reason', true), ''),
                'initial_transaction_id', NULLIF(current_setting('sperrd.initial_transaction_id', true), ''),
                'reference_id', NULLIF(current_setting('sperrd.reference_id', true), ''))),
            NULLIF(current_setting('sperrd.transaction_id', true), ''));
    RETURN NEW;
END $$;
CREATE OR REPLACE FUNCTION sperr_orders_history_complete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before  TEXT;
    changed JSONB;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        before := OLD.status;
    END IF;
    IF EXISTS (
        SELECT FROM sperr_order_history
        WHERE tenant = NEW.tenant AND order_id = NEW.id AND xact = pg_current_xact_id()
          AND action NOT IN ('changed_by_sql', 'iftsta_reset') -- each is of one statement in SQL, or moves nothing of these
          AND to_status = NEW.status AND from_status IS NOT DISTINCT FROM before
          AND CASE
            WHEN before IS DISTINCT FROM NEW.status                           THEN true
            WHEN NEW.sperrversuche IS DISTINCT FROM OLD.sperrversuche         THEN action = 'sperrversuch_failed'
            WHEN NEW.iftsta_dispatched_at IS DISTINCT FROM OLD.iftsta_dispatched_at THEN action = 'iftsta_dispatched'
            ELSE true END
    ) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        SELECT jsonb_agg(n.key ORDER BY a.attnum) INTO changed
        FROM jsonb_each(to_jsonb(NEW)) n JOIN jsonb_each(to_jsonb(OLD)) o USING (key)
        JOIN pg_attribute a ON a.attrelid = TG_RELID AND a.attname = n.key
        WHERE n.value IS DISTINCT FROM o.value;
    END IF;
    INSERT INTO sperr_order_history (tenant, order_id, actor, action, from_status, to_status, detail)
    VALUES (NEW.tenant, NEW.id, COALESCE(NULLIF(current_setting('sperrd.actor', true), ''), 'sql:' || session_user),
            'changed_by_sql', before, NEW.status,
            jsonb_strip_nulls(jsonb_build_object('columns', changed,
                'reason', NULLIF(current_setting('sperrd.reason', true), ''))));
    RETURN NULL;
END $$;
GRANT EXECUTE ON FUNCTION sperr_orders_count(), sperr_orders_count_none(), sperr_orders_iftsta_reset(), sperr_orders_history_complete() TO PUBLIC;
DROP FUNCTION IF EXISTS sperrd_claimed_by(OID);
DROP FUNCTION IF EXISTS sperrd_setting(TEXT);
ALTER TABLE sperr_orders DROP CONSTRAINT sperr_orders_marktdaten_texts;
DROP INDEX api_transactions_unredacted;
DROP INDEX api_transactions_order;
ALTER TABLE api_transactions DROP COLUMN redacted_at;
