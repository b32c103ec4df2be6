-- As on the way up.
SELECT sperrd_lock_tables('sperr_orders', 'webhook_rejects', 'event_outbox');
DROP INDEX webhook_rejects_unredacted;
DROP INDEX sperr_orders_unredacted;
ALTER TABLE webhook_rejects DROP COLUMN redacted_at;
ALTER TABLE event_outbox DROP COLUMN traceparent;
ALTER TABLE sperr_orders DROP COLUMN redacted_at, DROP COLUMN abschluss_traceparent, DROP COLUMN traceparent;
DROP FUNCTION sperrd_lock_tables(TEXT[]);
