-- Orders are counted by status and type.

SELECT sperrd_lock_tables('sperr_orders', 'sperr_order_totals');

-- The sum of n is kept for each type too. Under the lock nobody closes an order, so that
-- the totals can be counted anew.
ALTER TABLE sperr_order_totals ADD COLUMN order_type TEXT;
TRUNCATE sperr_order_totals;
INSERT INTO sperr_order_totals (tenant, status, order_type, vorlauffrist_verletzt, n)
SELECT tenant, status, order_type, vorlauffrist_eingehalten IS FALSE, count(*)
FROM sperr_orders WHERE status <> 'pending' GROUP BY 1, 2, 3, 4;
ALTER TABLE sperr_order_totals ALTER COLUMN order_type SET NOT NULL;

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
DROP TRIGGER sperr_orders_count_update ON sperr_orders;
CREATE TRIGGER sperr_orders_count_update AFTER UPDATE ON sperr_orders
    FOR EACH ROW WHEN ((OLD.status <> 'pending' OR NEW.status <> 'pending')
        AND (OLD.tenant, OLD.status, OLD.order_type, OLD.vorlauffrist_eingehalten IS FALSE)
            IS DISTINCT FROM (NEW.tenant, NEW.status, NEW.order_type, NEW.vorlauffrist_eingehalten IS FALSE))
    EXECUTE FUNCTION sperr_orders_count();

-- A replica of the version before would merge the rows of both types. Its merge is passed
-- over: only who says that it keeps the types apart takes rows away.
CREATE FUNCTION sperr_order_totals_keep_types() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('sperrd.fold', true) = 'by type' THEN
        RETURN OLD;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER sperr_order_totals_keep_types BEFORE DELETE ON sperr_order_totals
    FOR EACH ROW EXECUTE FUNCTION sperr_order_totals_keep_types();

DROP INDEX sperr_orders_pending_counts;
CREATE INDEX sperr_orders_pending_counts ON sperr_orders
    (tenant, order_type, ausfuehrung_am, fruehestens_am, ausfuehrung_faellig_am, vorlauffrist_eingehalten)
    WHERE status = 'pending';
