-- As on the way up.
SELECT sperrd_lock_tables('sperr_orders', 'sperr_order_history');
DROP TRIGGER sperr_orders_history_of_update ON sperr_orders;
DROP TRIGGER sperr_orders_history_of_insert ON sperr_orders;
DROP FUNCTION sperr_orders_history_complete();
ALTER TABLE sperr_order_history DROP COLUMN xact;
