LOCK TABLE event_outbox IN ACCESS EXCLUSIVE MODE; -- in full at once, as in 0005
CREATE INDEX event_outbox_pending ON event_outbox (tenant, next_attempt_at)
    WHERE delivered_at IS NULL AND dead_lettered_at IS NULL;
DROP INDEX event_outbox_due;
