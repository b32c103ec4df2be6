-- As on the way up.
DO $$
DECLARE
    until TIMESTAMPTZ := clock_timestamp() + interval '30 seconds';
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    LOOP
        BEGIN
            LOCK TABLE sperr_orders, sperr_order_totals IN ACCESS EXCLUSIVE MODE;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            IF clock_timestamp() > until THEN
                RAISE lock_not_available USING MESSAGE =
                    'somebody reads sperr_orders or sperr_order_totals for long: end that transaction, then start again';
            END IF;
        END;
        PERFORM pg_sleep(1);
    END LOOP;
END $$;
DROP INDEX sperr_orders_pending_counts;
CREATE INDEX sperr_orders_pending_counts ON sperr_orders
    (tenant, ausfuehrung_am, fruehestens_am, ausfuehrung_faellig_am, vorlauffrist_eingehalten)
    WHERE status = 'pending';
DROP TRIGGER sperr_order_totals_keep_types ON sperr_order_totals;
DROP FUNCTION sperr_order_totals_keep_types();
CREATE OR REPLACE FUNCTION sperr_orders_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sperr_order_totals (tenant, status, vorlauffrist_verletzt, n)
    SELECT tenant, status, eingehalten IS FALSE, n
    FROM (VALUES (OLD.tenant, OLD.status, OLD.vorlauffrist_eingehalten, -1),
                 (NEW.tenant, NEW.status, NEW.vorlauffrist_eingehalten, 1)) AS change (tenant, status, eingehalten, n)
    WHERE status <> 'pending';
    RETURN NULL;
END $$;
DROP TRIGGER sperr_orders_count_update ON sperr_orders;
CREATE TRIGGER sperr_orders_count_update AFTER UPDATE ON sperr_orders
    FOR EACH ROW WHEN ((OLD.status <> 'pending' OR NEW.status <> 'pending')
        AND (OLD.tenant, OLD.status, OLD.vorlauffrist_eingehalten IS FALSE)
            IS DISTINCT FROM (NEW.tenant, NEW.status, NEW.vorlauffrist_eingehalten IS FALSE))
    EXECUTE FUNCTION sperr_orders_count();
ALTER TABLE sperr_order_totals DROP COLUMN order_type;
