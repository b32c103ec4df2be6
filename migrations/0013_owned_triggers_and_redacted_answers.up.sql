-- Whoever may work on orders without owning the tables has no say in what the triggers
-- write; and answers are redacted once each.

SELECT sperrd_lock_tables('api_transactions', 'sperr_orders');

-- When the texts of an answer were replaced; NULL: they stand.
ALTER TABLE api_transactions ADD COLUMN redacted_at TIMESTAMPTZ;
CREATE INDEX api_transactions_order ON api_transactions (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX api_transactions_unredacted ON api_transactions (created_at) WHERE redacted_at IS NULL AND response_body <> '';

-- Who reads an order reads them all as text; a value that is none made the list fail.
ALTER TABLE sperr_orders ADD CONSTRAINT sperr_orders_marktdaten_texts CHECK (marktdaten IS NULL OR jsonb_typeof(marktdaten) = 'object'
    AND NOT jsonb_path_exists(marktdaten, 'strict $.* ? (@.type() != "string")', '{}', true)) NOT VALID; -- not those of earlier statements

-- What a session says with SET, or NULL. PostgreSQL takes any bytes from the options of a
-- connection; those that are no text are refused here, since no dump could be restored
-- with them.
CREATE FUNCTION sperrd_setting(name TEXT) RETURNS TEXT LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT NULLIF(convert_from(convert_to(current_setting(name, true), getdatabaseencoding()), getdatabaseencoding()), '')
$$;

-- The role behind an actor that somebody has named with sperrd.actor; NULL where the owner
-- has, which the service is, or where nobody has and the actor is the role.
CREATE FUNCTION sperrd_claimed_by(orders OID) RETURNS TEXT LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT session_user::text FROM pg_class
    WHERE oid = orders AND pg_get_userbyid(relowner) <> session_user AND current_setting('sperrd.actor', true) <> ''
$$;

-- The triggers write with the rights of their owner, so that nobody else needs any to
-- history or totals. That makes all they call count: a temporary table, or a function or an
-- operator that somebody has put into the schema, must not come between. So they look at
-- pg_catalog alone and name the schema of each table. A trigger on another table with one of
-- these functions would write as well, might anybody make one.
ALTER FUNCTION sperr_order_history_append_only() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION sperr_order_totals_keep_types() SET search_path = pg_catalog, pg_temp;
DO $do$ BEGIN

EXECUTE format($sql$
CREATE OR REPLACE FUNCTION sperr_orders_count() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO %1$I.sperr_order_totals (tenant, status, order_type, vorlauffrist_verletzt, n)
    SELECT tenant, status, type, eingehalten IS FALSE, n
    FROM (VALUES (OLD.tenant, OLD.status, OLD.order_type, OLD.vorlauffrist_eingehalten, -1),
                 (NEW.tenant, NEW.status, NEW.order_type, NEW.vorlauffrist_eingehalten, 1))
        AS change (tenant, status, type, eingehalten, n)
    WHERE status <> 'pending';
    RETURN NULL;
END $$
$sql$, current_schema());

EXECUTE format($sql$
CREATE OR REPLACE FUNCTION sperr_orders_count_none() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    TRUNCATE %1$I.sperr_order_totals;
    RETURN NULL;
END $$
$sql$, current_schema());

-- As in 0008, and with the role.
EXECUTE format($sql$
CREATE OR REPLACE FUNCTION sperr_orders_iftsta_reset() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
    INSERT INTO %1$I.sperr_order_history (tenant, order_id, actor, action, from_status, to_status, detail, transaction_id)
    VALUES (NEW.tenant, NEW.id, COALESCE(%1$I.sperrd_setting('sperrd.actor'::text), 'sql:' || session_user),
            'iftsta_reset', OLD.status, NEW.status,
            jsonb_strip_nulls(jsonb_build_object('attempts', OLD.iftsta_attempts, 'reset', OLD.iftsta_resets + 1,
                'reason', %1$I.sperrd_setting('sperrd.reason'::text),
                'role', %1$I.sperrd_claimed_by(TG_RELID),
                'initial_transaction_id', %1$I.sperrd_setting('sperrd.initial_transaction_id'::text),
                'reference_id', %1$I.sperrd_setting('sperrd.reference_id'::text))),
            %1$I.sperrd_setting('sperrd.transaction_id'::text));
    RETURN NEW;
END $$
$sql$, current_schema());

-- As in 0012, and with the role, and the lines of this transaction by their row too.
EXECUTE format($sql$
CREATE OR REPLACE FUNCTION sperr_orders_history_complete() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before  TEXT;
    changed JSONB;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        before := OLD.status;
    END IF;
    IF EXISTS (
        -- A line that was restored into another cluster may have the xact of this transaction;
        -- its row is of an earlier one all the same.
        SELECT FROM %1$I.sperr_order_history h
        WHERE tenant = NEW.tenant AND order_id = NEW.id AND xact = pg_current_xact_id() AND age(h.xmin) <= 0
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
    INSERT INTO %1$I.sperr_order_history (tenant, order_id, actor, action, from_status, to_status, detail)
    VALUES (NEW.tenant, NEW.id, COALESCE(%1$I.sperrd_setting('sperrd.actor'::text), 'sql:' || session_user),
            'changed_by_sql', before, NEW.status,
            jsonb_strip_nulls(jsonb_build_object('columns', changed,
                'reason', %1$I.sperrd_setting('sperrd.reason'::text),
                'role', %1$I.sperrd_claimed_by(TG_RELID))));
    RETURN NULL;
END $$
$sql$, current_schema());

END $do$;
REVOKE EXECUTE ON FUNCTION sperr_orders_count(), sperr_orders_count_none(), sperr_orders_iftsta_reset(), sperr_orders_history_complete() FROM PUBLIC;

-- As in 0012, and with what decides by which ids an order is known and what is redacted.
DROP TRIGGER sperr_orders_history_of_update ON sperr_orders;
CREATE CONSTRAINT TRIGGER sperr_orders_history_of_update AFTER UPDATE ON sperr_orders
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.status, OLD.sperrversuche, OLD.iftsta_dispatched_at, OLD.iftsta_ref,
        OLD.tenant, OLD.malo_id, OLD.lf_mp_id, OLD.order_type, OLD.pruefidentifikator, OLD.process_id,
        OLD.ausfuehrung_am, OLD.ausfuehrung_zeitpunkt, OLD.fruehestens_am, OLD.arbeitszeit, OLD.hinweis,
        OLD.treffpunkt_hinweis, OLD.treffpunkt_strasse, OLD.treffpunkt_plz, OLD.treffpunkt_ort, OLD.treffpunkt_land,
        OLD.ausfuehrung_faellig_am, OLD.iftsta_faellig_am,
        OLD.vorlauffrist_eingehalten, OLD.vorlauffrist_spaetester_ut, OLD.uebertragungstag,
        OLD.letzter_versuch_am, OLD.letzter_versuch_grund, OLD.executed_at, OLD.execution_note, OLD.fail_reason, OLD.pruefschritt_code,
        OLD.created_at, OLD.event_id, OLD.webhook_id, OLD.erstellt_transaktion, OLD.letzter_versuch_transaktion, OLD.abschluss_transaktion,
        OLD.marktdaten, OLD.redacted_at)
        IS DISTINCT FROM (NEW.status, NEW.sperrversuche, NEW.iftsta_dispatched_at, NEW.iftsta_ref,
        NEW.tenant, NEW.malo_id, NEW.lf_mp_id, NEW.order_type, NEW.pruefidentifikator, NEW.process_id,
        NEW.ausfuehrung_am, NEW.ausfuehrung_zeitpunkt, NEW.fruehestens_am, NEW.arbeitszeit, NEW.hinweis,
        NEW.treffpunkt_hinweis, NEW.treffpunkt_strasse, NEW.treffpunkt_plz, NEW.treffpunkt_ort, NEW.treffpunkt_land,
        NEW.ausfuehrung_faellig_am, NEW.iftsta_faellig_am,
        NEW.vorlauffrist_eingehalten, NEW.vorlauffrist_spaetester_ut, NEW.uebertragungstag,
        NEW.letzter_versuch_am, NEW.letzter_versuch_grund, NEW.executed_at, NEW.execution_note, NEW.fail_reason, NEW.pruefschritt_code,
        NEW.created_at, NEW.event_id, NEW.webhook_id, NEW.erstellt_transaktion, NEW.letzter_versuch_transaktion, NEW.abschluss_transaktion,
        NEW.marktdaten, NEW.redacted_at))
    EXECUTE FUNCTION sperr_orders_history_complete();
