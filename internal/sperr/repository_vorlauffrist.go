package sperr

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/werktag"
)

// maxLateOrders bounds the late orders of one report.
const maxLateOrders = 10_000

// The Sperrauftraege of a month, by their Übertragungstag or, where that is none or odd,
// by their arrival. Each branch is a range of the index sperr_orders_uebertragungstag,
// whatever the planner believes about the table; an OR of them need not be.
const (
	ofMarket = `
		SELECT id, lf_mp_id, malo_id, process_id, status, ausfuehrung_am, fruehestens_am, uebertragungstag, created_at,
			vorlauffrist_eingehalten, vorlauffrist_spaetester_ut
		FROM sperr_orders
		WHERE tenant = @tenant AND process_id IS NOT NULL AND order_type = 'sperrung' AND (@lf_mp_id::text = '' OR lf_mp_id = @lf_mp_id)`
	arrived = ` AND created_at >= @from AND created_at < @until`
	inMonat = ofMarket + ` AND uebertragungstag BETWEEN @von::date AND @bis::date UNION ALL` +
		ofMarket + ` AND uebertragungstag IS NULL` + arrived + ` UNION ALL` +
		ofMarket + ` AND uebertragungstag < '0001-01-01'` + arrived + ` UNION ALL` +
		ofMarket + ` AND uebertragungstag > '9999-12-31'` + arrived
)

// vorlauffristOfMonat has a row for each late order, and one for a Lieferant without any.
// It is one statement, so that counts and orders are seen at one moment.
var vorlauffristOfMonat = `
	WITH monat AS NOT MATERIALIZED (` + inMonat + `
	), counts AS (
		SELECT lf_mp_id, count(*) AS orders, count(vorlauffrist_eingehalten) AS judged,
			count(*) FILTER (WHERE NOT vorlauffrist_eingehalten) AS late
		FROM monat GROUP BY lf_mp_id
	), late AS (
		SELECT * FROM monat WHERE NOT vorlauffrist_eingehalten
		ORDER BY lf_mp_id COLLATE "C", uebertragungstag, created_at, id LIMIT @limit
	)
	SELECT lf_mp_id, orders, judged, counts.late, id, malo_id, process_id, status, ausfuehrung_am IS NOT NULL AS termingebunden,
		` + shown("ausfuehrung_am", "fruehestens_am", "uebertragungstag", "vorlauffrist_spaetester_ut", "created_at") + `
	FROM counts LEFT JOIN late USING (lf_mp_id)
	ORDER BY lf_mp_id COLLATE "C", late.uebertragungstag, late.created_at, late.id`

// vorlauffristRow is a Lieferant with one of its late orders; ID is nil where it has none.
type vorlauffristRow struct {
	LieferantVorlauffrist
	ID                       *uuid.UUID    `db:"id"`
	MaloID                   *string       `db:"malo_id"`
	ProcessID                *string       `db:"process_id"`
	Status                   *Status       `db:"status"`
	Termingebunden           bool          `db:"termingebunden"`
	AusfuehrungAm            *werktag.Date `db:"ausfuehrung_am"`
	FruehestensAm            *werktag.Date `db:"fruehestens_am"`
	Uebertragungstag         *werktag.Date `db:"uebertragungstag"`
	VorlauffristSpaetesterUT *werktag.Date `db:"vorlauffrist_spaetester_ut"`
	CreatedAt                time.Time     `db:"created_at"`
}

func (r vorlauffristRow) order(cal *werktag.Calendar) LateOrder {
	ut := r.Uebertragungstag
	if ut == nil {
		arrival := werktag.BerlinDay(r.CreatedAt)
		ut = &arrival
	}
	dates := Order{AusfuehrungAm: r.AusfuehrungAm, FruehestensAm: r.FruehestensAm}
	return LateOrder{
		ID: *r.ID, MaloID: *r.MaloID, ProcessID: *r.ProcessID, Status: *r.Status, Termingebunden: r.Termingebunden,
		RequestedDate: dates.RequestedDate(), Uebertragungstag: *ut, VorlauffristSpaetesterUT: r.VorlauffristSpaetesterUT,
		WerktageZuSpaet: werktageZuSpaet(cal, r.VorlauffristSpaetesterUT, *ut),
	}
}

// Vorlauffrist reports how the Lieferanten, or the one with lieferantID, kept the
// Vorlauffrist in a month. The verdicts are those on the orders; cal only measures the
// delays. At most maxLateOrders are listed. What it costs grows with the month.
func (r *Repository) Vorlauffrist(ctx context.Context, cal *werktag.Calendar, m Monat, lieferantID string) (VorlauffristReport, error) {
	rows, err := r.pool.Query(ctx, vorlauffristOfMonat, r.vorlauffristArgs(m, lieferantID))
	if err != nil {
		return VorlauffristReport{}, fmt.Errorf("report the Vorlauffrist: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[vorlauffristRow])
	if err != nil {
		return VorlauffristReport{}, fmt.Errorf("report the Vorlauffrist: %w", err)
	}
	report := VorlauffristReport{Monat: m.String(), Von: m.Von(), Bis: m.Bis(), Lieferanten: []LieferantVorlauffrist{}}
	listed := 0
	for _, row := range list {
		last := len(report.Lieferanten) - 1
		if last < 0 || report.Lieferanten[last].LieferantID != row.LieferantID {
			row.LateOrders = []LateOrder{}
			report.Lieferanten, last = append(report.Lieferanten, row.LieferantVorlauffrist), last+1
		}
		if row.ID == nil {
			continue
		}
		if listed == maxLateOrders {
			report.Truncated = true
			continue
		}
		listed++
		l := &report.Lieferanten[last]
		l.LateOrders = append(l.LateOrders, row.order(cal))
	}
	for i := range report.Lieferanten {
		report.Lieferanten[i].finish()
	}
	return report, nil
}

func (r *Repository) vorlauffristArgs(m Monat, lieferantID string) pgx.NamedArgs {
	return pgx.NamedArgs{
		"tenant": r.tenant, "lf_mp_id": lieferantID, "von": m.Von(), "bis": m.Bis(),
		"from": m.Von().Start(), "until": m.next().Start(), "limit": maxLateOrders + 1,
	}
}
