package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sperrd/internal/config"
	"sperrd/internal/outbox"
	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
)

// loops is the work of the service that nobody asks for: the IFTSTA queue, the Fristen
// and, where there is an ERP, the outbox.
type loops struct {
	retry   *sperr.RetryWorker
	scanner *sperr.FristScanner
	drainer *outbox.Drainer // nil: no ERP, events pile up

	retention *sperr.Retention // nil: texts are kept
}

func newLoops(c *config.Config, orders *sperr.Service, drainer *outbox.Drainer) loops {
	l := loops{
		retry: sperr.NewRetryWorker(orders, sperr.RetryOptions{
			PollInterval: c.IFTSTA.PollInterval, Parallelism: c.IFTSTA.Parallelism,
		}),
		scanner: sperr.NewFristScanner(orders, c.Frist.ScanInterval),
		drainer: drainer,
	}
	if age := c.Retention.RedactAfter; age > 0 {
		l.retention = sperr.NewRetention(orders, age)
	}
	return l
}

// start begins the work. stop asks it to begin nothing new, and ended is closed when
// what was in hand is finished and recorded.
func (l loops) start(ctx context.Context) (stop context.CancelFunc, ended <-chan struct{}) {
	// The end of ctx is the signal to stop, which has an order of its own.
	ctx, stop = context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { l.retry.Run(ctx) })
	running.Go(func() { l.scanner.Run(ctx) })
	if l.drainer != nil {
		running.Go(func() { l.drainer.Run(ctx) })
	}
	if l.retention != nil {
		running.Go(func() { l.retention.Run(ctx) })
	}
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	return stop, done
}

// newERPClient returns the client of the ERP that the configuration names, or nil.
func newERPClient(c *config.Config, now func() time.Time) (*outbox.Client, error) {
	if c.ERPWebhookURL.Reveal() == "" {
		return nil, nil
	}
	client, err := outbox.NewClient(c.ERPWebhookURL.Reveal(), c.ERPHMACSecret.Reveal(), c.Outbox.RequestTimeout, now)
	if err != nil {
		return nil, usageError{fmt.Errorf("erp_webhook_url, erp_hmac_secret: %w", err)}
	}
	return client, nil
}

// newDrainer returns what gives the events to erp; nil without one.
func (s *service) newDrainer(metrics *telemetry.Metrics) *outbox.Drainer {
	if s.erp == nil {
		return nil
	}
	c := s.config.Outbox
	return outbox.NewDrainer(s.pool, s.erp, outbox.Options{
		Tenant: s.config.Tenant, GiveUpAfter: c.GiveUpAfter, RequestTimeout: c.RequestTimeout, Lease: c.Lease,
		PollInterval: c.PollInterval, Parallelism: c.Parallelism, Retention: c.Retention,
		Metrics: metrics, Tracing: s.tracing, Now: s.now, Logger: s.logger,
	})
}

// backlogTimeout bounds the count of what waits for the ERP, which no start depends on.
const backlogTimeout = 5 * time.Second

// tellBacklog logs at the start what earlier runs have left to the ERP.
func (s *service) tellBacklog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, backlogTimeout)
	defer cancel()
	depth, err := outbox.ReadDepth(ctx, s.pool, s.config.Tenant)
	switch {
	case err != nil:
		s.logger.Warn("events that the ERP does not have could not be counted", "error", err)
	case depth.Pending > 0 || depth.DeadLetters > 0:
		s.logger.Warn("events that the ERP does not have", "pending", depth.Pending,
			"oldest_pending", depth.OldestPending, "dead_letters", depth.DeadLetters)
	}
}
