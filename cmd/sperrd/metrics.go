package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sperrd/internal/outbox"
	"sperrd/internal/postgres"
	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
	"sperrd/internal/werktag"
)

// newMetrics returns the metrics of this process.
func (s *service) newMetrics(repository *sperr.Repository) (*telemetry.Metrics, error) {
	return telemetry.NewMetrics(telemetry.MetricsOptions{
		Version: versionText(), Pool: s.pool.Stat, Now: s.now, Logger: s.logger,
		Readings: []telemetry.Reading{s.queueReading(repository), typeReading(repository), s.outboxReading(), s.snapshotReading()},
	})
}

// queueReading has the counters of the queue, under the names that /stats gives them.
func (s *service) queueReading(repository *sperr.Repository) telemetry.Reading {
	stats := func(ctx context.Context) (sperr.Stats, error) {
		return repository.Stats(ctx, werktag.BerlinDay(s.now()))
	}
	type number = telemetry.Number[sperr.Stats]
	return telemetry.NewReading(stats,
		number{Name: "sperrd_overdue_pending", Help: "Pending orders whose requested date has passed.", Of: func(s sperr.Stats) float64 { return float64(s.OverduePending) }},
		number{Name: "sperrd_fixtermin_verpasst", Help: "Pending orders whose fixed date (DTM+203) has passed.", Of: func(s sperr.Stats) float64 { return float64(s.FixterminVerpasst) }},
		number{Name: "sperrd_frist_ueberschritten", Help: "Pending orders past their window of 6 Werktage.", Of: func(s sperr.Stats) float64 { return float64(s.FristUeberschritten) }},
		number{Name: "sperrd_iftsta_outstanding", Help: "Closed orders whose Lieferant does not know the outcome.", Of: func(s sperr.Stats) float64 { return float64(s.IFTSTAOutstanding) }},
		number{Name: "sperrd_iftsta_ueberfaellig", Help: "Outstanding outcomes past the Frist of 1 Werktag.", Of: func(s sperr.Stats) float64 { return float64(s.IFTSTAUeberfaellig) }},
		number{Name: "sperrd_iftsta_stuck", Help: "Outstanding outcomes whose attempts are spent.", Of: func(s sperr.Stats) float64 { return float64(s.IFTSTAStuck) }},
		number{Name: "sperrd_vorlauffrist_verletzt", Help: "Orders that the Lieferant sent later than its Vorlauffrist allows.", Of: func(s sperr.Stats) float64 { return float64(s.VorlauffristVerletzt) }},
		number{Name: "sperrd_webhook_rejects_open", Help: "Refused webhook deliveries that nobody has settled.", Of: func(s sperr.Stats) float64 { return float64(s.WebhookRejectsOffen) }},
	)
}

// typeReading has one number for each status and type, also where there is no order.
func typeReading(repository *sperr.Repository) telemetry.Reading {
	var numbers []telemetry.Number[[]sperr.TypeCount]
	for _, status := range []sperr.Status{sperr.StatusPending, sperr.StatusExecuted, sperr.StatusFailed, sperr.StatusCancelled} {
		for _, orderType := range []sperr.Type{sperr.TypeSperrung, sperr.TypeEntsperrung} {
			numbers = append(numbers, telemetry.Number[[]sperr.TypeCount]{
				Name: "sperrd_orders", Help: "Orders by status and type.",
				Labels: prometheus.Labels{"status": string(status), "order_type": string(orderType)},
				Of: func(counts []sperr.TypeCount) (n float64) {
					for _, c := range counts {
						if c.Status == status && c.OrderType == orderType {
							n += float64(c.N)
						}
					}
					return n
				},
			})
		}
	}
	return telemetry.NewReading(repository.CountByType, numbers...)
}

func (s *service) outboxReading() telemetry.Reading {
	depth := func(ctx context.Context) (outbox.Depth, error) { return outbox.ReadDepth(ctx, s.pool, s.config.Tenant) }
	type number = telemetry.Number[outbox.Depth]
	return telemetry.NewReading(depth,
		number{Name: "sperrd_outbox_pending", Help: "Events that wait for the ERP.", Of: func(d outbox.Depth) float64 { return float64(d.Pending) }},
		number{Name: "sperrd_outbox_dead_letters", Help: "Events that were given up and that nobody has requeued.", Of: func(d outbox.Depth) float64 { return float64(d.DeadLetters) }},
		number{Name: "sperrd_outbox_oldest_pending_seconds", Help: "How long the oldest waiting event waits; 0: none waits.", Of: func(d outbox.Depth) float64 {
			if d.OldestPending == nil {
				return 0
			}
			return max(s.now().Sub(*d.OldestPending), 0).Seconds()
		}},
	)
}

func (s *service) snapshotReading() telemetry.Reading {
	snapshot := func(ctx context.Context) (time.Duration, error) {
		oldest, err := postgres.OldestSnapshot(ctx, s.pool)
		return oldest.Age, err
	}
	return telemetry.NewReading(snapshot, telemetry.Number[time.Duration]{
		Name: "sperrd_database_oldest_snapshot_seconds", Help: "Age of the oldest snapshot in the database, which keeps dead rows of the queues from being removed.",
		Of: time.Duration.Seconds,
	})
}
