DROP TABLE sperr_orders;
