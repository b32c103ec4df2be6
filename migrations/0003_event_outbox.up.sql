-- Transactional outbox: every de.sperr.* event is written in the transaction of
-- the state change it tells of.
CREATE TABLE event_outbox (
    id               UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    seq              BIGINT GENERATED ALWAYS AS IDENTITY,  -- order of the events of one order
    tenant           TEXT NOT NULL,
    order_id         UUID NOT NULL REFERENCES sperr_orders (id),
    event_id         TEXT NOT NULL UNIQUE,                 -- derived from the change: enqueueing twice is one event
    ce_type          TEXT NOT NULL,
    envelope         JSONB NOT NULL,                       -- the CloudEvent, structured mode
    attempts         SMALLINT NOT NULL DEFAULT 0,
    next_attempt_at  TIMESTAMPTZ NOT NULL DEFAULT now(),   -- lease and backoff in one column
    first_attempt_at TIMESTAMPTZ,
    delivered_at     TIMESTAMPTZ,
    dead_lettered_at TIMESTAMPTZ,
    last_error       TEXT,
    created_at       TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX event_outbox_pending ON event_outbox (tenant, next_attempt_at)
    WHERE delivered_at IS NULL AND dead_lettered_at IS NULL;
-- Finds the earlier undelivered events of the same order.
CREATE INDEX event_outbox_pending_order ON event_outbox (order_id, seq)
    WHERE delivered_at IS NULL AND dead_lettered_at IS NULL;
CREATE INDEX event_outbox_dead ON event_outbox (tenant, dead_lettered_at)
    WHERE dead_lettered_at IS NOT NULL;
CREATE INDEX event_outbox_delivered ON event_outbox (tenant, delivered_at)
    WHERE delivered_at IS NOT NULL;
