-- Signed webhook bodies that were refused. The sender gives up on a 4xx for good,
-- so this copy is what a human works from.
CREATE TABLE webhook_rejects (
    id            UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant        TEXT NOT NULL,
    webhook_id    TEXT NOT NULL,
    body_hash     BYTEA NOT NULL,                      -- SHA-256 of headers and body
    headers       JSONB NOT NULL,                      -- Content-Type and ce-*: with the body the whole event
    body          BYTEA NOT NULL,                      -- as received, also when it is not UTF-8
    status        INTEGER NOT NULL,                    -- the HTTP status it was answered with
    code          TEXT NOT NULL,                       -- the problem code of that answer
    reason        TEXT NOT NULL,
    count         INTEGER NOT NULL DEFAULT 1,
    first_seen_at TIMESTAMPTZ NOT NULL,
    last_seen_at  TIMESTAMPTZ NOT NULL,
    UNIQUE (tenant, webhook_id, body_hash)
);
CREATE INDEX webhook_rejects_list ON webhook_rejects (tenant, first_seen_at DESC, id DESC);
