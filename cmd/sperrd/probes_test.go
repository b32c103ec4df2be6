package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"sperrd/internal/outbox/erptest"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/sperr"
)

// probe asks for /health/live again and again, as an orchestrator does, until stopped;
// any answer but 200 would restart the process.
func (i *instance) probe(t *testing.T) (asked *atomic.Int64, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	asked = new(atomic.Int64)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for ctx.Err() == nil {
			status, body, err := i.call(ctx, http.MethodGet, "/health/live", "")
			if ctx.Err() == nil && (err != nil || status != http.StatusOK) {
				t.Errorf("GET /health/live: %d %s %v; want 200", status, body, err)
			}
			asked.Add(1)
			<-ticker.C
		}
	}()
	return asked, func() {
		cancel()
		<-ended
	}
}

func TestProbes_while_the_database_is_gone_or_silent_and_once_it_is_back(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	w, database := databaseWire(t, postgrestest.NewURL(t))
	i := start(t, setup{port: freePort(t), database: database, makod: m.url, more: unhurried("")})
	i.awaitReady(t)
	asked, stop := i.probe(t)
	defer stop()
	for n, breaks := range []func(){w.cut, w.silence} {
		before := asked.Load()
		breaks()
		i.awaitStatus(t, "/health/ready", http.StatusServiceUnavailable)
		event := m.sperrauftrag(t, maloID(n), map[string]any{})
		status, body := m.deliver(t, i, event, hmacSecret)
		if status != http.StatusServiceUnavailable {
			t.Errorf("POST /webhook: %d %s; want 503, so that the event comes again", status, body)
		}
		w.mend(t)
		i.awaitReady(t) // by itself: the process is the same
		await(t, func() (bool, string) {
			status, body := m.deliver(t, i, event, hmacSecret)
			return status == http.StatusCreated, fmt.Sprintf("POST /webhook: %d %s; want 201", status, body)
		})
		if asked.Load() == before {
			t.Error("nobody asked for /health/live meanwhile")
		}
	}
}

func TestProbes_stay_good_while_makod_and_the_ERP_are_gone_or_silent(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, impatient("200ms", "10s", "max_per_second = 0"))
	makod, makodURL := httpWire(t, n.setup.makod)
	erp, erpURL := httpWire(t, n.setup.erp)
	n.setup.makod, n.setup.erp = makodURL, erpURL
	i := n.replicas(t, 1)[0]
	asked, stop := i.probe(t)
	defer stop()
	tried := 0
	for _, breaks := range []func(*wire){(*wire).cut, (*wire).silence} {
		before := asked.Load()
		breaks(makod)
		breaks(erp)
		n.seed(t, sperr.StatusExecuted, 3, sperr.EventAusgefuehrt)
		tried += 3
		// The service knows by now: it has tried both in vain.
		n.awaitText(t, fmt.Sprint(tried), `SELECT count(*) FROM sperr_orders WHERE iftsta_last_error IS NOT NULL`)
		n.awaitText(t, fmt.Sprint(tried), `SELECT count(*) FROM event_outbox WHERE last_error IS NOT NULL AND ce_type = $1`, sperr.EventAusgefuehrt)
		for range 5 {
			if status, body, err := i.get(t, "/health/ready"); status != http.StatusOK {
				t.Errorf("GET /health/ready: %d %s %v; want 200", status, body, err)
			}
		}
		event := n.sperrauftrag(t, maloID(900+tried), map[string]any{})
		if status, body := n.deliver(t, i, event, hmacSecret); status != http.StatusCreated {
			t.Errorf("POST /webhook: %d %s; want 201", status, body)
		}
		if asked.Load() == before {
			t.Error("nobody asked for /health/live meanwhile")
		}
		makod.mend(t)
		erp.mend(t)
	}
}

func TestProbes_are_good_from_the_start_without_makod_and_ERP(t *testing.T) {
	t.Parallel()
	erp := erptest.New(erptest.Options{Secret: erpSecret})
	makod, makodURL := httpWire(t, newMarket(t).url)
	ledger, erpURL := httpWire(t, erp.Start(t))
	makod.cut()
	ledger.cut()
	i := start(t, setup{port: freePort(t), database: postgrestest.NewURL(t), makod: makodURL, erp: erpURL})
	i.awaitReady(t)
	i.awaitStatus(t, "/health/live", http.StatusOK)
}
