package sperr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/transaction"
)

// Repository is the table sperr_orders and its history, as one tenant sees them.
// Its reads are exported and safe for concurrent use; its writes take the
// transaction they belong to and stay inside this package, so that whoever holds
// only a Repository can change nothing. This file has what concerns one order; the other
// repository_*.go have a topic each.
type Repository struct {
	pool        *pgxpool.Pool
	tenant      string
	maxAttempts int
}

// NewRepository reads and writes the orders of tenant. An outcome whose IFTSTA was
// tried maxAttempts times is stuck: it waits for a human.
func NewRepository(pool *pgxpool.Pool, tenant string, maxAttempts int) *Repository {
	return &Repository{pool: pool, tenant: tenant, maxAttempts: maxAttempts}
}

// orderColumns are the columns of Order, in its order. What a process that died has in
// flight is in flight no more when its lease is over.
var orderColumns = `id, tenant, malo_id, lf_mp_id, order_type, pruefidentifikator, process_id,
	` + shown("ausfuehrung_am", "ausfuehrung_zeitpunkt", "fruehestens_am") + `, arbeitszeit,
	treffpunkt_hinweis, treffpunkt_strasse, treffpunkt_plz, treffpunkt_ort, treffpunkt_land, hinweis,
	` + shown("ausfuehrung_faellig_am", "ausfuehrung_eskaliert_at") + `, vorlauffrist_eingehalten, ` + shown("vorlauffrist_spaetester_ut", "uebertragungstag") + `,
	status, sperrversuche, ` + shown("letzter_versuch_am") + `, letzter_versuch_grund,
	` + shown("executed_at") + `, execution_note, fail_reason, pruefschritt_code,
	` + shown("iftsta_faellig_am") + `, iftsta_ref, ` + shown("iftsta_dispatched_at") + `, iftsta_attempts, iftsta_last_error,
	` + shown("iftsta_escalated_at", "iftsta_next_attempt_at") + `, array_remove(warnungen, NULL) AS warnungen, ` + shown("created_at", "updated_at", "redacted_at") + `,
	` + notShown() + `, marktdaten, iftsta_unklar, iftsta_last_code, ` + onItsWay + ` AS iftsta_in_flight, iftsta_frist_gemeldet, iftsta_resets,
	webhook_id, event_id, erstellt_transaktion, letzter_versuch_transaktion, abschluss_transaktion, traceparent, abschluss_traceparent, iftsta_transaktion`

func (r *Repository) scanOrder(row pgx.CollectableRow) (Order, error) {
	o, err := pgx.RowToStructByName[Order](row)
	if err != nil {
		return Order{}, err
	}
	r.derive(&o)
	return o, nil
}

// derive adds what follows from the columns and stands in none of them. A write that takes
// warnings from an order takes newWarnings, which are never these.
func (r *Repository) derive(o *Order) {
	o.warn(o.oddWarnings()...)
	o.IFTSTAEmpfehlung = iftstaEmpfehlung(*o, r.maxAttempts)
	o.IFTSTADiagnose = iftstaDiagnose(*o, r.maxAttempts)
}

// many runs a query for orders with all orderColumns.
func (r *Repository) many(ctx context.Context, q querier, sql string, args ...any) ([]Order, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, r.scanOrder)
}

// one runs a query for at most one order; ok is false where there is none.
func (r *Repository) one(ctx context.Context, q querier, sql string, args ...any) (o Order, ok bool, err error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return Order{}, false, err
	}
	o, err = pgx.CollectExactlyOneRow(rows, r.scanOrder)
	if errors.Is(err, pgx.ErrNoRows) {
		return Order{}, false, nil
	}
	return o, err == nil, err
}

// querier is what a pool and a transaction have in common.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Get is one order of the tenant, or ErrNotFound.
func (r *Repository) Get(ctx context.Context, id uuid.UUID) (Order, error) {
	return r.get(ctx, r.pool, id)
}

func (r *Repository) get(ctx context.Context, q querier, id uuid.UUID) (Order, error) {
	o, ok, err := r.one(ctx, q, `SELECT `+orderColumns+` FROM sperr_orders WHERE tenant = $1 AND id = $2`, r.tenant, id)
	if err != nil {
		return Order{}, fmt.Errorf("get order %s: %w", id, err)
	}
	if !ok {
		return Order{}, fmt.Errorf("order %s: %w", id, ErrNotFound)
	}
	return o, nil
}

// pending is an order that takes a report. It is ErrNotFound where there is none and,
// beside the order as it stands, a *NotPendingError where it is closed.
func (r *Repository) pending(ctx context.Context, q querier, id uuid.UUID) (Order, error) {
	o, err := r.get(ctx, q, id)
	if err == nil && o.Status != StatusPending {
		err = &NotPendingError{Order: o}
	}
	return o, err
}

// byProcess is the order of a market process, if there is one.
func (r *Repository) byProcess(ctx context.Context, tx pgx.Tx, processID string) (Order, bool, error) {
	o, ok, err := r.one(ctx, tx, `SELECT `+orderColumns+` FROM sperr_orders WHERE tenant = $1 AND process_id = $2`,
		r.tenant, processID)
	if err != nil {
		return Order{}, false, fmt.Errorf("find the order of process %s: %w", processID, err)
	}
	return o, ok, nil
}

// createdIn is the order that the call with a logical id has created, and who made it.
func (r *Repository) createdIn(ctx context.Context, tx pgx.Tx, logicalID string) (o Order, actor string, err error) {
	o, ok, err := r.one(ctx, tx, `SELECT `+orderColumns+` FROM sperr_orders WHERE tenant = $1 AND erstellt_transaktion = $2`,
		r.tenant, logicalID)
	if err == nil && !ok {
		err = errors.New("it vanished")
	}
	if err != nil {
		return Order{}, "", fmt.Errorf("find the order of transaction %s: %w", transaction.Shown(logicalID), err)
	}
	actor, _, err = r.doneOnce(ctx, tx, o.ID, actionCreated)
	return o, actor, err
}

// insert writes a new pending order. inserted is false, and nothing written, where
// its process, or the call that creates it, already has one: the unique constraint
// decides, whatever runs beside.
func (r *Repository) insert(ctx context.Context, tx pgx.Tx, o Order) (stored Order, inserted bool, err error) {
	stored, inserted, err = r.one(ctx, tx, `
		INSERT INTO sperr_orders (
			id, tenant, malo_id, lf_mp_id, order_type, pruefidentifikator, process_id,
			ausfuehrung_am, ausfuehrung_zeitpunkt, fruehestens_am, arbeitszeit,
			treffpunkt_hinweis, treffpunkt_strasse, treffpunkt_plz, treffpunkt_ort, treffpunkt_land, hinweis,
			ausfuehrung_faellig_am, vorlauffrist_eingehalten, vorlauffrist_spaetester_ut, uebertragungstag,
			warnungen, marktdaten, webhook_id, event_id, erstellt_transaktion, traceparent, created_at, updated_at)
		VALUES (
			@id, @tenant, @malo_id, @lf_mp_id, @order_type, @pruefidentifikator, @process_id,
			@ausfuehrung_am, @ausfuehrung_zeitpunkt, @fruehestens_am, @arbeitszeit,
			@treffpunkt_hinweis, @treffpunkt_strasse, @treffpunkt_plz, @treffpunkt_ort, @treffpunkt_land, @hinweis,
			@ausfuehrung_faellig_am, @vorlauffrist_eingehalten, @vorlauffrist_spaetester_ut, @uebertragungstag,
			@warnungen, @marktdaten, @webhook_id, @event_id, @erstellt_transaktion, @traceparent, @created_at, @created_at)
		ON CONFLICT DO NOTHING
		RETURNING `+orderColumns, pgx.NamedArgs{
		"id": o.ID, "tenant": r.tenant, "malo_id": o.MaloID, "lf_mp_id": o.LieferantID,
		"order_type": o.OrderType, "pruefidentifikator": o.Pruefidentifikator, "process_id": o.ProcessID,
		"ausfuehrung_am": o.AusfuehrungAm, "ausfuehrung_zeitpunkt": o.AusfuehrungZeitpunkt,
		"fruehestens_am": o.FruehestensAm, "arbeitszeit": o.Arbeitszeit,
		"treffpunkt_hinweis": o.TreffpunktHinweis, "treffpunkt_strasse": o.TreffpunktStrasse,
		"treffpunkt_plz": o.TreffpunktPLZ, "treffpunkt_ort": o.TreffpunktOrt, "treffpunkt_land": o.TreffpunktLand,
		"hinweis": o.Hinweis, "ausfuehrung_faellig_am": o.AusfuehrungFaelligAm,
		"vorlauffrist_eingehalten": o.VorlauffristEingehalten, "vorlauffrist_spaetester_ut": o.VorlauffristSpaetesterUT,
		"uebertragungstag": o.Uebertragungstag,
		"warnungen":        o.Warnungen, "marktdaten": o.Marktdaten, "created_at": o.CreatedAt,
		"webhook_id": o.WebhookID, "event_id": o.EventID, "erstellt_transaktion": o.ErstelltTransaktion,
		"traceparent": o.Traceparent,
	})
	if err != nil {
		return Order{}, false, fmt.Errorf("insert order: %w", err)
	}
	return stored, inserted, nil
}

// addWarning puts a warning on an order once; ok is false where it already stands there.
func (r *Repository) addWarning(ctx context.Context, tx pgx.Tx, id uuid.UUID, warning string, at time.Time) (Order, bool, error) {
	o, ok, err := r.one(ctx, tx, `
		UPDATE sperr_orders SET warnungen = warnungen || $3::text, updated_at = $4
		WHERE tenant = $1 AND id = $2 AND NOT warnungen @> ARRAY[$3::text]
		RETURNING `+orderColumns, r.tenant, id, warning, at)
	if err != nil {
		return Order{}, false, fmt.Errorf("warn on order %s: %w", id, err)
	}
	return o, ok, nil
}

// nonNil keeps an array parameter from being NULL.
func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
