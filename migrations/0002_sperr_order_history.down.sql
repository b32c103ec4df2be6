DROP TRIGGER sperr_orders_iftsta_reset ON sperr_orders;
DROP FUNCTION sperr_orders_iftsta_reset();
DROP TABLE sperr_order_history;
DROP FUNCTION sperr_order_history_append_only();
