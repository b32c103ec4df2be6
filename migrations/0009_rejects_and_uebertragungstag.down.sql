LOCK TABLE sperr_orders, webhook_rejects IN ACCESS EXCLUSIVE MODE;
DROP INDEX sperr_orders_uebertragungstag;
ALTER TABLE sperr_orders DROP COLUMN uebertragungstag;
DROP INDEX webhook_rejects_open;
ALTER TABLE webhook_rejects
    DROP COLUMN settlement,
    DROP COLUMN settled_at,
    DROP COLUMN settled_by,
    DROP COLUMN settlement_reason,
    DROP COLUMN settlement_transaction,
    DROP COLUMN order_id;
