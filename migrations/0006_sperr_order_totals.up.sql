-- What the counters of the queue read, so that they cost the same whatever has been
-- closed: open work from indexes that hold nothing else, closed orders from totals.

-- An order that somebody writes meanwhile is committed before this lock, and found by
-- the INSERT below, or waits for the end of this file and then fires the triggers. The
-- lock is taken in full at once: raised later, for DROP INDEX, it would deadlock with
-- a transaction that has read an order and now writes it.
LOCK TABLE sperr_orders IN ACCESS EXCLUSIVE MODE;

-- How many orders are closed: the sum of n for each tenant, status and verdict. A
-- closing appends a row in its own transaction and touches no other, so that closings
-- do not wait for each other; sperrd merges the rows in the background.
CREATE TABLE sperr_order_totals (
    tenant                TEXT NOT NULL,
    id                    BIGINT GENERATED ALWAYS AS IDENTITY,
    status                TEXT NOT NULL,
    vorlauffrist_verletzt BOOLEAN NOT NULL,             -- vorlauffrist_eingehalten is false
    n                     BIGINT NOT NULL,              -- signed: an order that is closed no more takes one away
    PRIMARY KEY (tenant, id)
);

-- Takes away what a change to an order counted and adds what it counts now; OLD is
-- NULL on INSERT, NEW is NULL on DELETE, and a pending order counts as nothing.
CREATE FUNCTION sperr_orders_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sperr_order_totals (tenant, status, vorlauffrist_verletzt, n)
    SELECT tenant, status, eingehalten IS FALSE, n
    FROM (VALUES (OLD.tenant, OLD.status, OLD.vorlauffrist_eingehalten, -1),
                 (NEW.tenant, NEW.status, NEW.vorlauffrist_eingehalten, 1)) AS change (tenant, status, eingehalten, n)
    WHERE status <> 'pending';
    RETURN NULL;
END $$;
CREATE TRIGGER sperr_orders_count_insert AFTER INSERT ON sperr_orders
    FOR EACH ROW WHEN (NEW.status <> 'pending') EXECUTE FUNCTION sperr_orders_count();
-- No column list: what another trigger changes in NEW is not in the statement's list.
CREATE TRIGGER sperr_orders_count_update AFTER UPDATE ON sperr_orders
    FOR EACH ROW WHEN ((OLD.status <> 'pending' OR NEW.status <> 'pending')
        AND (OLD.tenant, OLD.status, OLD.vorlauffrist_eingehalten IS FALSE)
            IS DISTINCT FROM (NEW.tenant, NEW.status, NEW.vorlauffrist_eingehalten IS FALSE))
    EXECUTE FUNCTION sperr_orders_count();
CREATE TRIGGER sperr_orders_count_delete AFTER DELETE ON sperr_orders
    FOR EACH ROW WHEN (OLD.status <> 'pending') EXECUTE FUNCTION sperr_orders_count();

-- The history forbids to truncate the orders. Where somebody has taken that guard
-- away, the totals go with what they counted.
CREATE FUNCTION sperr_orders_count_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE sperr_order_totals;
    RETURN NULL;
END $$;
CREATE TRIGGER sperr_orders_count_truncate AFTER TRUNCATE ON sperr_orders
    FOR EACH STATEMENT EXECUTE FUNCTION sperr_orders_count_none();

INSERT INTO sperr_order_totals (tenant, status, vorlauffrist_verletzt, n)
SELECT tenant, status, vorlauffrist_eingehalten IS FALSE, count(*)
FROM sperr_orders WHERE status <> 'pending' GROUP BY 1, 2, 3;

-- Both indexes below hold every column that the counters read, so that counting does
-- not visit rows that lie scattered among closed ones. Few values and no id: equal
-- entries of the first share one, which keeps it a tenth of the size.
CREATE INDEX sperr_orders_pending_counts ON sperr_orders
    (tenant, ausfuehrung_am, fruehestens_am, ausfuehrung_faellig_am, vorlauffrist_eingehalten)
    WHERE status = 'pending';
-- The queue's own index with two columns more, since each claim of an outcome writes
-- every index that holds it.
DROP INDEX sperr_orders_iftsta_due;
CREATE INDEX sperr_orders_iftsta_due ON sperr_orders
    (tenant, iftsta_attempts, iftsta_next_attempt_at, iftsta_faellig_am, iftsta_in_flight)
    WHERE status IN ('executed', 'failed') AND process_id IS NOT NULL AND iftsta_dispatched_at IS NULL;
