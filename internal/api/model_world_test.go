package api_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"sperrd/internal/api"
	"sperrd/internal/authn"
	"sperrd/internal/authn/authntest"
	"sperrd/internal/authz"
	"sperrd/internal/makod"
	"sperrd/internal/makod/makodtest"
	"sperrd/internal/mcpserver"
	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/sperr"
	"sperrd/internal/webhook"
	"sperrd/internal/werktag"
	"sperrd/policies"
)

// modelWorld is what all sequences share: one database, in which each has a tenant of its
// own, and the lines to the service and to makod.
type modelWorld struct {
	t             *testing.T
	databaseURL   string
	pool          *pgxpool.Pool // of the test, not of the service
	pools         [2]*pgxpool.Pool
	issuer        *authntest.Issuer
	authenticator *authn.Authenticator
	authorizer    *authz.Authorizer
	verifier      *webhook.Verifier
	url, makodURL string
	makod         atomic.Pointer[makodtest.Server]
	http          *http.Client

	tenants   int
	exchanges sync.Map // number to *modelExchange
	last      atomic.Int64
}

// modelFaults let the database fail for one tenant.
const modelFaults = `
	CREATE TABLE model_fault (tenant TEXT, kind TEXT);
	CREATE FUNCTION model_fault() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF EXISTS (SELECT FROM public.model_fault WHERE tenant = NEW.tenant AND kind = TG_ARGV[0]) THEN
			RAISE EXCEPTION 'the test lets % fail', TG_ARGV[0];
		END IF;
		RETURN NEW;
	END $$;
	CREATE TRIGGER model_statement BEFORE INSERT ON api_transactions FOR EACH ROW EXECUTE FUNCTION model_fault('statement');
	CREATE TRIGGER model_statement BEFORE INSERT ON sperr_order_history FOR EACH ROW EXECUTE FUNCTION model_fault('statement');
	CREATE TRIGGER model_settle BEFORE UPDATE ON api_transactions FOR EACH ROW EXECUTE FUNCTION model_fault('settle');
	CREATE TRIGGER model_dispatch BEFORE INSERT ON sperr_order_history FOR EACH ROW
		WHEN (NEW.action = 'iftsta_dispatched') EXECUTE FUNCTION model_fault('dispatch');
	CREATE CONSTRAINT TRIGGER model_commit AFTER INSERT ON api_transactions
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION model_fault('commit');
	CREATE CONSTRAINT TRIGGER model_commit AFTER INSERT ON sperr_order_history
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION model_fault('commit');`

func newModelWorld(t *testing.T) *modelWorld {
	t.Helper()
	w := &modelWorld{t: t, databaseURL: postgrestest.NewURL(t), issuer: authntest.Start(t)}
	w.pool = w.openPool()
	t.Cleanup(w.pool.Close)
	for i := range w.pools {
		w.pools[i] = w.openPool()
		t.Cleanup(func() { w.pools[i].Close() }) // the one of then
	}
	_, err := w.pool.Exec(t.Context(), modelFaults)
	w.must(err)
	clock := func() time.Time { return now }
	w.issuer.Now = clock
	w.authenticator = authn.New(authn.Options{Issuer: w.issuer.URL(), Audience: authntest.Audience, Now: clock})
	w.must(w.authenticator.Refresh(t.Context()))
	w.authorizer, err = authz.New("sperrd.cedar", policies.Sperrd, api.Actions())
	w.must(err)
	w.verifier, err = webhook.NewVerifier([]string{secret}, clock)
	w.must(err)
	makodLine := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.makod.Load().ServeHTTP(rw, r) }))
	t.Cleanup(makodLine.Close)
	w.makodURL = makodLine.URL
	w.url = serve(t, http.HandlerFunc(w.front), slog.New(slog.DiscardHandler), func(*http.Server) {})
	w.http = newClient(t, 16)
	return w
}

func (w *modelWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *modelWorld) openPool() *pgxpool.Pool {
	w.t.Helper()
	pool, err := postgres.Open(w.t.Context(), w.databaseURL, postgres.Options{PoolSize: 4, ApplicationName: "model"})
	w.must(err)
	return pool
}

// modelProcess is one process of the service.
type modelProcess struct {
	pool    *pgxpool.Pool
	client  *makod.Client
	service *sperr.Service
	handler http.Handler
}

// modelTwinWait is short: a twin that waits is waited for. Nothing depends on how long it
// is, but which of two permitted answers a twin in a burst gets.
const modelTwinWait = 10 * time.Millisecond

// newProcess starts the service of a tenant on a pool.
func (w *modelWorld) newProcess(pool *pgxpool.Pool, tenant string) *modelProcess {
	w.t.Helper()
	client, err := makod.NewClient(w.makodURL, "key", 30*time.Second)
	w.must(err)
	clock, logger := func() time.Time { return now }, slog.New(slog.DiscardHandler)
	repository := sperr.NewRepository(pool, tenant, 1000)
	service := sperr.NewService(pool, repository, client, sperr.Options{
		Calendar: werktag.BDEW(), PruefschrittCheck: sperr.PruefschrittRefuse, TwinWait: modelTwinWait, Retention: retention,
		RequestTimeout: 30 * time.Second, Lease: 60 * time.Second, FirstBackoff: 30 * time.Second, MaxBackoff: 2 * time.Hour,
		Now: clock, Logger: logger,
	})
	return &modelProcess{pool: pool, client: client, service: service, handler: api.NewHandler(api.Options{
		Tenant: tenant, Service: service, Repository: repository, Verifier: w.verifier, Authenticator: w.authenticator, Authorizer: w.authorizer,
		MCP:   mcpserver.NewHandler(mcpserver.Options{Repository: repository, Now: clock, Version: "test", Logger: logger}),
		Ready: pool.Ping, IdempotencyRetention: retention, Now: clock, Logger: logger,
	})}
}

// modelExchange is one call on its way through the front of the service.
type modelExchange struct {
	process *modelProcess
	lost    atomic.Bool // the answer never reaches the caller
	answer  answer      // what the process said; to be read when done is closed
	done    chan struct{}
}

const exchangeHeader = "X-Exchange"

// front leads each request to its process, and loses the answers that are to be lost.
func (w *modelWorld) front(rw http.ResponseWriter, r *http.Request) {
	v, _ := w.exchanges.Load(r.Header.Get(exchangeHeader))
	x := v.(*modelExchange)
	recorder := httptest.NewRecorder()
	x.process.handler.ServeHTTP(recorder, r)
	header := http.Header{}
	for name, values := range recorder.Result().Header { // the service spells some names in its own way
		header[http.CanonicalHeaderKey(name)] = append(header[http.CanonicalHeaderKey(name)], values...)
	}
	x.answer = answer{recorder.Code, header, recorder.Body.Bytes()}
	lost := x.lost.Load()
	close(x.done)
	if lost {
		panic(http.ErrAbortHandler)
	}
	for name, values := range recorder.Result().Header {
		rw.Header()[name] = values
	}
	rw.WriteHeader(recorder.Code)
	_, _ = rw.Write(recorder.Body.Bytes())
}

// exchange sends a request to a process and returns when its answer is there, or lost. An
// answer that came must be the one that the process gave.
func (w *modelWorld) exchange(ctx context.Context, x *modelExchange, method, path, body string, header http.Header) error {
	number := strconv.FormatInt(w.last.Add(1), 10)
	w.exchanges.Store(number, x)
	defer w.exchanges.Delete(number)
	// Not a Reader that net/http knows: it would send the call again by itself.
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, io.NopCloser(strings.NewReader(body)))
	if err != nil {
		return err
	}
	r.Header = header
	r.Header.Set(exchangeHeader, number)
	response, err := w.http.Do(r)
	if err != nil {
		if ctx.Err() == nil {
			<-x.done
		}
		return nil // lost
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	<-x.done
	if err != nil || response.StatusCode != x.answer.status || string(raw) != string(x.answer.body) {
		return fmt.Errorf("%d %s (%w) came of %d %s", response.StatusCode, raw, err, x.answer.status, x.answer.body)
	}
	return nil
}

// fail lets the database fail for a tenant; empty: it works again.
func (w *modelWorld) fail(t *rapid.T, tenant, kind string) {
	t.Helper()
	if kind == "" {
		return
	}
	w.exec(t, `INSERT INTO model_fault VALUES ($1, $2)`, tenant, kind)
}

func (w *modelWorld) heal(t *rapid.T, tenant, kind string) {
	t.Helper()
	if kind != "" {
		w.exec(t, `DELETE FROM model_fault WHERE tenant = $1`, tenant)
	}
}

func (w *modelWorld) exec(t *rapid.T, sql string, args ...any) {
	t.Helper()
	if _, err := w.pool.Exec(w.t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
