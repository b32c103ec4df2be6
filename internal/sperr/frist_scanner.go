package sperr

import (
	"context"
	"errors"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/loop"
	"sperrd/internal/outbox"
	"sperrd/internal/werktag"
)

// FristScanner announces, once each, the orders whose 6-WT window closed with nobody there
// (GPKE Teil 2 § 3.5.1.2 Nr. 1) and the outcomes that no Lieferant knows of although their
// attempts are spent or their Frist (Nr. 5) has passed. Any number of scanners may run on
// one database: the write that stamps an order decides who announces it, in one transaction
// with the event. Beside the Fristen it clears up: it folds the totals and forgets the
// calls whose retention is over.
type FristScanner struct {
	service  *Service
	interval time.Duration
}

// NewFristScanner returns a scanner of service's orders that looks every interval.
func NewFristScanner(service *Service, interval time.Duration) *FristScanner {
	return &FristScanner{service: service, interval: interval}
}

// Run scans until ctx ends.
func (f *FristScanner) Run(ctx context.Context) {
	f.service.loop(loop.Loop{Name: "frist scanner", Step: f.scan}).Run(ctx)
}

// scan announces a group of each kind and clears up. What fails does not keep the rest
// from being done; a stop does.
func (f *FristScanner) scan(ctx context.Context) (rest time.Duration, err error) {
	s := f.service
	var failed []error
	rest = f.interval
	for _, work := range []func(context.Context) (more bool, err error){s.announceUeberfaellig, s.announceAusstehend, s.foldTotals, s.forgetTransactions} {
		if ctx.Err() != nil {
			break
		}
		more, err := work(ctx)
		if err != nil {
			failed = append(failed, err)
		}
		if more {
			rest = 0
		}
	}
	return rest, errors.Join(failed...)
}

func (s *Service) announceUeberfaellig(ctx context.Context) (more bool, err error) {
	orders, err := s.announce(ctx, announcement{
		stamp: s.repo.stampUeberfaellig, event: ausfuehrungUeberfaellig, action: actionAusfuehrungUeberfaellig,
		detail: func(o Order) map[string]any {
			return map[string]any{"ausfuehrung_faellig_am": dayText(o.AusfuehrungFaelligAm)}
		},
	})
	for _, o := range orders {
		s.Logger.WarnContext(ctx, "execution window is over", "order_id", o.ID, "process_id", text(o.ProcessID))
	}
	return len(orders) == maxAnnounced, err
}

func (s *Service) announceAusstehend(ctx context.Context) (more bool, err error) {
	orders, err := s.announce(ctx, announcement{
		stamp: s.repo.stampAusstehend, action: actionIFTSTAAusstehend,
		event: func(o Order, at time.Time) (event.Event, error) { return iftstaAusstehend(o, s.repo.maxAttempts, at) },
		detail: func(o Order) map[string]any {
			return map[string]any{"attempts": o.IFTSTAAttempts, "reset": o.IFTSTAResets, "iftsta_faellig_am": dayText(o.IFTSTAFaelligAm)}
		},
	})
	for _, o := range orders {
		s.Logger.WarnContext(ctx, "Lieferant is still uninformed", "order_id", o.ID, "process_id", text(o.ProcessID), "attempts", o.IFTSTAAttempts)
	}
	return len(orders) == maxAnnounced, err
}

// foldTotals keeps the sum behind the counters short.
func (s *Service) foldTotals(ctx context.Context) (more bool, err error) {
	return false, s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error { return s.repo.foldTotals(ctx, tx) })
}

// announcement is one kind of thing that has run past its Frist.
type announcement struct {
	stamp  func(ctx context.Context, tx pgx.Tx, today werktag.Date, at time.Time) ([]Order, error)
	event  func(o Order, at time.Time) (event.Event, error)
	action string
	detail func(o Order) map[string]any // of the history line
}

// announce stamps one group of orders, writes their events and history with it, and returns
// them.
func (s *Service) announce(ctx context.Context, a announcement) (orders []Order, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		at := s.now()
		if orders, err = a.stamp(ctx, tx, werktag.BerlinDay(at), at); err != nil {
			return err
		}
		entries, lines := make([]outbox.Entry, len(orders)), make([]change, len(orders))
		for i, o := range orders {
			e, err := a.event(o, at)
			if err != nil {
				return err
			}
			entries[i] = entryOf(o, e, o.lastTrace())
			lines[i] = change{order: o, actor: actorService, action: a.action, from: o.Status, at: at, detail: a.detail(o)}
		}
		if err := s.repo.appendHistory(ctx, tx, lines...); err != nil {
			return err
		}
		return outbox.Enqueue(ctx, tx, entries...)
	})
	if err != nil {
		return nil, err
	}
	return orders, nil
}
