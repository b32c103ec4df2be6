-- The work queue of physical disconnections and reconnections: one row per
-- Sperrauftrag (ORDERS 17115) or Entsperrauftrag (ORDERS 17117).
CREATE TABLE sperr_orders (
    id                   UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant               TEXT NOT NULL,                 -- MP-ID of the Netzbetreiber
    malo_id              TEXT NOT NULL,
    lf_mp_id             TEXT NOT NULL,                 -- the ordering Lieferant
    order_type           TEXT NOT NULL CHECK (order_type IN ('sperrung', 'entsperrung')),   -- BGM+Z51 / Z52
    pruefidentifikator   INTEGER CHECK (pruefidentifikator IN (17115, 17117)),              -- NULL: operator order
    process_id           TEXT,                          -- makod process; NULL: operator order, no IFTSTA owed
    ausfuehrung_am       DATE,                          -- DTM+203, Berlin day
    fruehestens_am       DATE,                          -- DTM+469, Berlin day
    CHECK (ausfuehrung_am IS NULL OR fruehestens_am IS NULL),   -- AHB conditions [55] / [56]
    ausfuehrung_faellig_am   DATE,                      -- 6 WT, GPKE Teil 2 § 3.5.1.2 Nr. 1
    ausfuehrung_eskaliert_at TIMESTAMPTZ,
    sperrversuche            INTEGER NOT NULL DEFAULT 0
                             CHECK (sperrversuche BETWEEN 0 AND 2),   -- § 3.5.1.2 Nr. 5
    letzter_versuch_am       TIMESTAMPTZ,
    letzter_versuch_grund    TEXT,
    vorlauffrist_eingehalten   BOOLEAN,                 -- recorded, never enforced
    vorlauffrist_spaetester_ut DATE,                    -- the latest ÜT the order could have carried
    iftsta_faellig_am        DATE,                      -- 1. WT nach Abschluss, Nr. 5
    arbeitszeit          TEXT CHECK (arbeitszeit IN ('innerhalb', 'auch_ausserhalb')),      -- IMD+7081 Z53 / Z54
    treffpunkt_hinweis   TEXT,                          -- SG2 NAD+Z24
    treffpunkt_strasse   TEXT,
    treffpunkt_plz       TEXT,
    treffpunkt_ort       TEXT,
    treffpunkt_land      TEXT CHECK (treffpunkt_land IS NULL OR treffpunkt_land ~ '^[A-Z]{2}$'),
    hinweis              TEXT,                          -- SG29 FTX+ACB
    status               TEXT NOT NULL DEFAULT 'pending'
                         CHECK (status IN ('pending', 'executed', 'failed', 'cancelled')),
    executed_at          TIMESTAMPTZ,
    execution_note       TEXT,
    fail_reason          TEXT,
    pruefschritt_code    TEXT,                          -- SG15 STS DE9013
    CHECK (status <> 'executed' OR executed_at IS NOT NULL),
    CHECK (status <> 'failed'   OR fail_reason IS NOT NULL),
    iftsta_ref           TEXT,                          -- makod process the command ran against
    iftsta_dispatched_at TIMESTAMPTZ,                   -- NULL on a closed market order: the LF does not know
    iftsta_attempts      INTEGER NOT NULL DEFAULT 0,    -- counted at the claim
    iftsta_last_error    TEXT,
    -- Claim lease and retry backoff in one column: whoever takes an order pushes
    -- this forward, so that nobody else's "<= now()" matches it meanwhile.
    iftsta_next_attempt_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    iftsta_escalated_at  TIMESTAMPTZ,
    created_at           TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at           TIMESTAMPTZ NOT NULL DEFAULT now(),
    UNIQUE (tenant, process_id),

    -- Columns below have a default or may be NULL: an INSERT that names only
    -- the columns above works.
    ausfuehrung_zeitpunkt TIMESTAMPTZ,                  -- the hour of a DTM+203
    warnungen            TEXT[] NOT NULL DEFAULT '{}',  -- what a human should look at
    marktdaten           JSONB,                         -- the market fields as received, to recognise a contradicting redelivery
    iftsta_unklar        BOOLEAN NOT NULL DEFAULT false,-- a command was sent whose answer never came
    iftsta_last_code     TEXT,                          -- the kind of the last error, for the advice on the order
    iftsta_resets        INTEGER NOT NULL DEFAULT 0     -- cycles of attempts begun anew
);

-- The list: requested date, undated last, newest first, id as tie-break.
CREATE INDEX sperr_orders_list ON sperr_orders
    (tenant, (COALESCE(ausfuehrung_am, fruehestens_am, 'infinity'::date)), created_at DESC, id DESC);

-- Indexes over live work only, so that claims and counters cost the same at ten
-- thousand and at ten million rows.
CREATE INDEX sperr_orders_pending ON sperr_orders
    (tenant, (COALESCE(ausfuehrung_am, fruehestens_am)), created_at, id)
    WHERE status = 'pending';
CREATE INDEX sperr_orders_ausfuehrung_faellig ON sperr_orders (tenant, ausfuehrung_faellig_am)
    WHERE status = 'pending' AND ausfuehrung_eskaliert_at IS NULL;
CREATE INDEX sperr_orders_iftsta_outstanding ON sperr_orders (tenant, iftsta_next_attempt_at)
    WHERE status IN ('executed', 'failed') AND process_id IS NOT NULL AND iftsta_dispatched_at IS NULL;
-- All orders of one Marktlokation, closed ones included.
CREATE INDEX sperr_orders_malo ON sperr_orders (tenant, malo_id);
