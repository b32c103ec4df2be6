LOCK TABLE sperr_orders IN ACCESS EXCLUSIVE MODE;
DROP INDEX sperr_orders_iftsta_due;
CREATE INDEX sperr_orders_iftsta_due ON sperr_orders (tenant, iftsta_attempts, iftsta_next_attempt_at)
    WHERE status IN ('executed', 'failed') AND process_id IS NOT NULL AND iftsta_dispatched_at IS NULL;
DROP INDEX sperr_orders_pending_counts;
DROP TRIGGER sperr_orders_count_truncate ON sperr_orders;
DROP TRIGGER sperr_orders_count_delete ON sperr_orders;
DROP TRIGGER sperr_orders_count_update ON sperr_orders;
DROP TRIGGER sperr_orders_count_insert ON sperr_orders;
DROP FUNCTION sperr_orders_count_none();
DROP FUNCTION sperr_orders_count();
DROP TABLE sperr_order_totals;
