-- As on the way up.
SELECT sperrd_lock_tables('sperr_orders', 'sperr_order_totals');
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
