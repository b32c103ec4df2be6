LOCK TABLE event_outbox IN ACCESS EXCLUSIVE MODE; -- in full at once, as in 0005
-- The claim takes the least tried events first, so that a thousand that the ERP keeps
-- refusing stand behind the one that it has not seen yet.
CREATE INDEX event_outbox_due ON event_outbox (tenant, attempts, next_attempt_at, seq)
    WHERE delivered_at IS NULL AND dead_lettered_at IS NULL;
DROP INDEX event_outbox_pending;
