-- No change of an order is without its line in the history.

SELECT sperrd_lock_tables('sperr_orders', 'sperr_order_history');

-- The transaction that wrote the line, also where it was a replica of an earlier version.
-- NULL: written before this column.
ALTER TABLE sperr_order_history ADD COLUMN xact XID8;
ALTER TABLE sperr_order_history ALTER COLUMN xact SET DEFAULT pg_current_xact_id();

-- Looks, when a transaction ends, whether it has written the line of a change that it has
-- made: of a status, a visit or a dispatch its own, of anything else that the market or a
-- human said any. sperrd does; for each statement in psql a line is written here, which
-- names the columns and never their values.
CREATE FUNCTION sperr_orders_history_complete() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE CONSTRAINT TRIGGER sperr_orders_history_of_insert AFTER INSERT ON sperr_orders
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION sperr_orders_history_complete();
-- What the service counts and schedules by itself is left out: an UPDATE of those columns
-- alone, as each claim of an outcome is one, fires nothing.
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
