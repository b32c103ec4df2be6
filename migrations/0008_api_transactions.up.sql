-- Calls that change an order are recognised when they come again, and get the same answer.

LOCK TABLE sperr_orders, sperr_order_history IN ACCESS EXCLUSIVE MODE; -- in full at once, as in 0005

-- No index of the two tables begins with the tenant: with statistics of an emptier day it
-- looks selective, and each call would read all operations there are.

-- One logical operation and its answer, written in the transaction of the change. A row
-- is only ever seen whole: what is under way has none yet.
CREATE TABLE api_transactions (
    tenant              TEXT NOT NULL,
    logical_id          TEXT NOT NULL,                  -- the id of its first call
    principal           TEXT NOT NULL,                  -- issuer and subject of the caller; a token may change
    operation           TEXT NOT NULL,                  -- method, route, order and query
    order_id            UUID REFERENCES sperr_orders (id),
    fingerprint         BYTEA NOT NULL,                 -- SHA-256 of operation, body and reference_id
    fingerprint_version SMALLINT NOT NULL,
    reference_id        TEXT,                           -- referenceId of the call that did the work
    executed_by         TEXT NOT NULL,                  -- the call that did the work
    state               TEXT NOT NULL CHECK (state IN ('provisional', 'final')),
    status_code         SMALLINT NOT NULL,
    response_headers    JSONB NOT NULL,
    response_body       BYTEA NOT NULL,                 -- bytes, since a replay is the same to the byte
    created_at          TIMESTAMPTZ NOT NULL,
    settled_at          TIMESTAMPTZ,
    expires_at          TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (logical_id, tenant)
);
CREATE INDEX api_transactions_expiry ON api_transactions (expires_at, tenant);
CREATE INDEX api_transactions_provisional ON api_transactions (created_at, tenant) WHERE state = 'provisional';

-- Every id by which an operation is known. The key decides which of two calls does the
-- work. The operation itself is written later in the same transaction.
CREATE TABLE api_transaction_attempts (
    tenant            TEXT NOT NULL,
    transaction_id    TEXT NOT NULL,
    logical_id        TEXT NOT NULL,
    creation_datetime TIMESTAMPTZ,
    received_at       TIMESTAMPTZ,                      -- NULL: named by another call, not received itself
    replayed          BOOLEAN NOT NULL,                 -- got the answer of an earlier call
    PRIMARY KEY (transaction_id, tenant),
    FOREIGN KEY (tenant, logical_id) REFERENCES api_transactions (tenant, logical_id)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX api_transaction_attempts_operation ON api_transaction_attempts (logical_id, tenant, received_at);

-- What is known of an operation for as long as the order is, also when its record is gone.
ALTER TABLE sperr_orders
    ADD COLUMN webhook_id                 TEXT,         -- of the delivery that brought the order
    ADD COLUMN event_id                   TEXT,         -- of the market event that brought it
    ADD COLUMN erstellt_transaktion       TEXT,         -- logical id of the call that created it
    ADD COLUMN letzter_versuch_transaktion TEXT,        -- of the call that reported the last visit in vain
    ADD COLUMN abschluss_transaktion      TEXT,         -- of the call that reported the outcome
    ADD COLUMN iftsta_transaktion         UUID;         -- transactionId of the first command with the outcome
CREATE UNIQUE INDEX sperr_orders_erstellt_transaktion ON sperr_orders (tenant, erstellt_transaktion)
    WHERE erstellt_transaktion IS NOT NULL;

ALTER TABLE sperr_order_history ADD COLUMN transaction_id TEXT; -- the call that did it

CREATE OR REPLACE FUNCTION sperr_orders_iftsta_reset() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT OLD.iftsta_in_flight THEN
        NEW.iftsta_next_attempt_at := now();
    ELSE
        NEW.iftsta_next_attempt_at := GREATEST(OLD.iftsta_next_attempt_at, now());
    END IF;
    NEW.iftsta_escalated_at   := NULL;
    NEW.iftsta_resets         := OLD.iftsta_resets + 1;
    NEW.iftsta_frist_gemeldet := OLD.iftsta_frist_gemeldet
        OR COALESCE(OLD.iftsta_faellig_am < (now() AT TIME ZONE 'Europe/Berlin')::date, false);
    NEW.updated_at            := now();
    INSERT INTO sperr_order_history (tenant, order_id, actor, action, from_status, to_status, detail, transaction_id)
    VALUES (NEW.tenant, NEW.id, COALESCE(NULLIF(current_setting('sperrd.actor', true), ''), 'sql:' || session_user),
            'iftsta_reset', OLD.status, NEW.status,
            jsonb_strip_nulls(jsonb_build_object('attempts', OLD.iftsta_attempts, 'reset', OLD.iftsta_resets + 1,
                'reason', NULLIF(current_setting('sperrd.reason', true), ''),
                'initial_transaction_id', NULLIF(current_setting('sperrd.initial_transaction_id', true), ''),
                'reference_id', NULLIF(current_setting('sperrd.reference_id', true), ''))),
            NULLIF(current_setting('sperrd.transaction_id', true), ''));
    RETURN NEW;
END $$;
