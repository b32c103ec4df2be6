package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/outbox"
	"sperrd/internal/sperr"
	"sperrd/internal/transaction"
	"sperrd/internal/werktag"
)

// lateEvent is how old the oldest event for the ERP may be before somebody should look:
// much older than a deploy of the ERP takes.
const lateEvent = time.Hour

// work looks at what waits for a human. Whatever is stuck warns: the service does what it
// can, and no start would change anything.
func (d *database) work(ctx context.Context) {
	repository := sperr.NewRepository(d.pool, d.config.Tenant, d.config.IFTSTA.MaxAttempts)
	d.look(ctx, "queues", func(ctx context.Context, tx pgx.Tx) error {
		stats, err := repository.StatsIn(ctx, tx, werktag.BerlinDay(d.now()))
		if err == nil {
			d.counters(stats)
		}
		return err
	})
	d.look(ctx, "orders", func(ctx context.Context, tx pgx.Tx) error {
		found, err := repository.Unreachable(ctx, tx)
		if err == nil {
			d.unreachable(found)
		}
		return err
	})
	d.look(ctx, "outbox", func(ctx context.Context, tx pgx.Tx) error {
		depth, err := outbox.ReadDepth(ctx, tx, d.config.Tenant)
		if err == nil {
			d.outbox(depth)
		}
		return err
	})
	store := transaction.NewStore(d.pool, d.config.Tenant, d.config.Idempotency.Retention)
	d.look(ctx, "transactions", func(ctx context.Context, tx pgx.Tx) error {
		abandoned, err := store.Abandoned(ctx, tx, d.now())
		if err == nil {
			d.transactions(abandoned)
		}
		return err
	})
}

func (f *findings) counters(s sperr.Stats) {
	f.fristen(s)
	f.iftsta(s)
	f.rejects(s)
}

// fristen judges what is to be done on site. A passed DTM+469 only means that a date can
// be made.
func (f *findings) fristen(s sperr.Stats) {
	const what = "fristen"
	text := fmt.Sprintf("%d orders pending, the requested day of %d has come and gone; %d past a Fixtermin, %d past the Frist of six Werktage",
		s.Pending, s.OverduePending, s.FixterminVerpasst, s.FristUeberschritten)
	if s.FixterminVerpasst+s.FristUeberschritten > 0 {
		f.warn(what, text, "GET /api/v1/sperr-orders?due=true lists what is to be done; let the field team report it, or cancel what is withdrawn")
		return
	}
	f.ok(what, text)
}

func (f *findings) iftsta(s sperr.Stats) {
	const what = "iftsta"
	text := fmt.Sprintf("%d outcomes wait for makod; %d past their Frist, %d with all attempts spent",
		s.IFTSTAOutstanding, s.IFTSTAUeberfaellig, s.IFTSTAStuck)
	switch {
	case s.IFTSTAStuck > 0:
		f.warn(what, text, `"sperrd iftsta list --stuck" says why; mend that, then "sperrd iftsta reset --stuck --reason TEXT"`)
	case s.IFTSTAUeberfaellig > 0:
		f.warn(what, text, `"sperrd iftsta list" says why; they are sent by themselves once makod takes them`)
	default:
		f.ok(what, text)
	}
}

func (f *findings) rejects(s sperr.Stats) {
	const what = "rejects"
	text := fmt.Sprintf("%d refused deliveries are open", s.WebhookRejectsOffen)
	if s.WebhookRejectsOffen > 0 {
		f.warn(what, text, "GET /api/v1/webhook-rejects says why; mend that and replay each, or dismiss it")
		return
	}
	f.ok(what, text)
}

// unreachable tells of days that never come, which nothing else counts as late.
func (f *findings) unreachable(u sperr.Unreachable) {
	const what = "orders"
	if u.Count == 0 {
		f.ok(what, "every open order has days that come")
		return
	}
	text := fmt.Sprintf("%d open orders hold a day or a moment that never comes:", u.Count)
	for _, id := range u.Examples {
		text += " " + id.String()
	}
	if more := u.Count - int64(len(u.Examples)); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	f.warn(what, text, "GET /api/v1/sperr-orders/{id} shows which column; correct it by SQL, or cancel the order")
}

// outbox judges what the ERP does not have.
func (d *database) outbox(depth outbox.Depth) {
	const what = "outbox"
	text := fmt.Sprintf("%d events wait for the ERP", depth.Pending)
	if depth.OldestPending != nil {
		text += ", the oldest since " + depth.OldestPending.UTC().Format(time.RFC3339)
	}
	late := depth.OldestPending != nil && d.now().Sub(*depth.OldestPending) > lateEvent
	switch {
	case depth.DeadLetters > 0:
		d.warn(what, fmt.Sprintf("%s; %d were given up", text, depth.DeadLetters),
			`"sperrd outbox list --dead" says why; mend that, then "sperrd outbox requeue --all --reason TEXT"`)
	case late && d.config.ERPWebhookURL.Reveal() != "": // else told with the configuration
		d.warn(what, text, `"sperrd outbox list" says why; once the ERP is back "sperrd outbox requeue --waiting --reason TEXT" saves the wait`)
	default:
		d.ok(what, text)
	}
}

// transactions judges calls whose process died before it could answer.
func (f *findings) transactions(abandoned int64) {
	const what = "transactions"
	text := fmt.Sprintf("%d calls have a provisional answer that nobody settles", abandoned)
	if abandoned > 0 {
		f.warn(what, text, "a sperrd that serves settles them within minutes: see that one runs, and look into its log")
		return
	}
	f.ok(what, text)
}
