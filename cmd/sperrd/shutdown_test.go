package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres/postgrestest"
)

// orders counts the orders and those whose outcome is with makod and recorded.
func orders(t *testing.T, url string) (executed, dispatched int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	err = conn.QueryRow(t.Context(), `
		SELECT count(*) FILTER (WHERE status = 'executed'), count(iftsta_dispatched_at) FROM sperr_orders
		`).Scan(&executed, &dispatched)
	if err != nil {
		t.Fatal(err)
	}
	return executed, dispatched
}

// whileStopping asks for readiness until the listener is closed, and returns how
// often "not ready" was heard before that.
func whileStopping(t *testing.T, i *instance) (notReady int) {
	t.Helper()
	await(t, func() (bool, string) {
		status, _, err := i.get(t, "/health/ready")
		if status == http.StatusServiceUnavailable {
			notReady++
		}
		return refused(err), "the listener is still open"
	})
	return notReady
}

func TestServe_SIGTERM_while_20_reports_wait_for_makod_loses_none(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url}
	i := startChild(t, s)
	i.awaitReady(t)
	const n = 20
	var ids []string
	for k := range n {
		ids = append(ids, m.order(t, i, maloID(k)))
	}
	gate := m.Hold()
	defer gate.Release()
	answers := execute(t, i, ids)
	if err := gate.Wait(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	i.stop()
	if whileStopping(t, i) == 0 {
		t.Error("the listener closed before readiness was false")
	}
	gate.Release()

	for range n {
		if a := <-answers; a.err != nil || a.status != http.StatusNoContent {
			t.Errorf("execute: %d %v; want 204", a.status, a.err)
		}
	}
	if code := i.awaitExit(t); code != exitOK {
		t.Errorf("exit code %d; want 0\n%s", code, i.log.String())
	}
	if executed, dispatched := orders(t, s.database); executed != n || dispatched != n {
		t.Errorf("executed %d, dispatched %d; want %d of both", executed, dispatched, n)
	}
	if got := len(m.Requests()); got != n {
		t.Errorf("%d commands; want %d", got, n)
	}
}

func TestServe_grace_that_ends_cuts_the_connections_and_fails(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url, grace: "500ms"}
	i := startChild(t, s)
	i.awaitReady(t)
	id := m.order(t, i, maloID(1))
	gate := m.Hold()
	defer gate.Release()
	answers := execute(t, i, []string{id})
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}

	i.stop()

	if code := i.awaitExit(t); code != exitFailure {
		t.Errorf("exit code %d; want 1", code)
	}
	if a := <-answers; a.err == nil {
		t.Errorf("the client was answered with %d; want a cut connection", a.status)
	}
	if log := i.log.String(); !strings.Contains(log, "shutdown_grace has passed") {
		t.Errorf("the log does not say that the grace has passed:\n%s", log)
	}
	if executed, dispatched := orders(t, s.database); executed != 1 || dispatched != 0 {
		t.Errorf("executed %d, dispatched %d; want the report kept and the outcome queued", executed, dispatched)
	}
}

func TestServe_second_signal_ends_at_once(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	i := startChild(t, setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url, grace: "10m"})
	i.awaitReady(t)
	id := m.order(t, i, maloID(1))
	gate := m.Hold()
	defer gate.Release()
	answers := execute(t, i, []string{id})
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}

	i.stop()
	i.awaitStatus(t, "/health/ready", http.StatusServiceUnavailable)
	i.stop()

	if code := i.awaitExit(t); code == exitOK {
		t.Error("exit code 0; want the one of a signal")
	}
	<-answers
}

func TestServe_client_that_hangs_up_stops_neither_dispatch_nor_record(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url}
	i := start(t, s)
	i.awaitReady(t)
	id := m.order(t, i, maloID(1))
	gate := m.Hold()
	defer gate.Release()
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, _, err := i.call(ctx, http.MethodPut, executePath(id), "")
		gone <- err
	}()
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}

	hangUp()
	if err := <-gone; err == nil {
		t.Fatal("the client did not hang up")
	}
	i.stop() // waits for the request although nobody waits for its answer
	whileStopping(t, i)
	gate.Release()

	if code := i.awaitExit(t); code != exitOK {
		t.Errorf("exit code %d; want 0\n%s", code, i.log.String())
	}
	if executed, dispatched := orders(t, s.database); executed != 1 || dispatched != 1 {
		t.Errorf("executed %d, dispatched %d; want 1 of both", executed, dispatched)
	}
}

func TestServe_signal_during_start_up_is_heard(t *testing.T) {
	t.Parallel()
	silent, connected := silentServer(t)
	i := start(t, setup{port: freePort(t), database: "postgres://sperrd@" + silent + "/sperrd?sslmode=disable", makod: "http://127.0.0.1:1"})
	select {
	case <-connected:
	case <-time.After(patience):
		t.Fatal("nobody has connected")
	}

	i.stop()

	if code := i.awaitExit(t); code != exitOK {
		t.Errorf("exit code %d; want 0\n%s", code, i.log.String())
	}
	if log := i.log.String(); !strings.Contains(log, "stopped before it was ready") {
		t.Errorf("the log does not say so:\n%s", log)
	}
}
