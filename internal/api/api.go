// Package api is the HTTP surface of the service: the webhook on which market
// events arrive and the REST interface of the operators. It turns requests into
// calls of package sperr and their results into answers; rules of the trade,
// statements and transactions are not its business.
//
// Read routes.go first: one line per route, with who may call it and whether a call is
// recognised when it comes again; access.go and once.go hold them to it. Every failure
// leaves through the one table in errors.go, and every request leaves one line in the log.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"sperrd/internal/authn"
	"sperrd/internal/authz"
	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
	"sperrd/internal/webhook"
)

// Options are the parts that the handlers call. All but Verifier, Authenticator, MCPKey,
// Metrics, Tracing and Warnings are required.
type Options struct {
	// Version is the one of the service, for its description.
	Version string
	// Tenant is the deployment's own.
	Tenant     string
	Service    *sperr.Service
	Repository *sperr.Repository
	// Verifier checks the signature of a market event. Nil takes every body
	// unverified, which allow_insecure_no_auth alone may ask for.
	Verifier *webhook.Verifier
	// Authenticator checks tokens. Nil serves everybody as an NB of the tenant, which
	// allow_insecure_no_auth alone may ask for.
	Authenticator *authn.Authenticator
	Authorizer    *authz.Authorizer
	// MCP serves the body of POST /mcp. MCPKey opens it beside tokens; empty: there is
	// none.
	MCP    http.Handler
	MCPKey string
	// MCPParallel is how many messages of MCP are answered at the same time, 1 at least.
	// Each may read a thousand orders and hold them in memory several times.
	MCPParallel int
	// IdempotencyRetention is how old the creationDateTime of a call may be: for so long
	// calls are recognised. IdempotencyRequired refuses those that cannot be.
	IdempotencyRetention time.Duration
	IdempotencyRequired  bool
	// Metrics count what becomes of the deliveries. Nil: there is no route for them.
	Metrics *telemetry.Metrics
	// Tracing makes a span of each request. Nil: nobody records.
	Tracing *telemetry.Tracing
	// Warnings are what readiness tells an operator.
	Warnings []string
	// Ready is nil while the service can do its work.
	Ready  func(context.Context) error
	Now    func() time.Time // business time: "today" is its Berlin day
	Logger *slog.Logger
}

// server is what the handlers share. It is safe for concurrent use.
type server struct {
	Options
	routes  []route
	large   chan []byte // see readBody
	mcp     turns
	reports turns
	routing turns // of a CSV, until its client has it
	// maxRoute is how many orders one CSV has at most.
	maxRoute int
	// document is the description of the routes, made when it is first asked for.
	document func() (static, error)
	origins  *http.CrossOriginProtection
}

// NewHandler serves every route of the table. The handler is safe for concurrent
// use.
func NewHandler(o Options) http.Handler {
	return newServer(o).router()
}

func newServer(o Options) *server {
	s := &server{
		Options:  o,
		document: openAPIDocument(o.Version),
		large:    make(chan []byte, largeBodies),
		origins:  http.NewCrossOriginProtection(), maxRoute: maxRoute,
		mcp:     turns{of: "messages of MCP", free: make(chan struct{}, max(o.MCPParallel, 1)), wait: databaseTimeout, answer: mcpAnswerWithin},
		reports: turns{of: "reports", free: make(chan struct{}, 1), wait: databaseTimeout},
		routing: turns{of: "CSVs on their way", free: make(chan struct{}, csvUnderWay), wait: databaseTimeout},
	}
	for range largeBodies {
		s.large <- nil // allocated when first needed
	}
	s.routes = s.table()
	for _, route := range s.routes {
		if route.read != nil {
			s.Metrics.AnnounceCalls(route.method, route.pattern)
		}
	}
	return s
}

// The limits of a connection.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	idleTimeout       = 60 * time.Second
	// maxHeaderBytes has room for a token with thousands of roles.
	maxHeaderBytes = 256 << 10
	// writeMargin is what the server's clock for an answer runs beside the handler:
	// it starts before the body is read and ends when the answer is written.
	writeMargin = readTimeout + 5*time.Second
)

// NewServer bounds what one client can take: the time for its header, its body and
// its answer, and the size of its header. answerWithin is the longest that a handler
// may work on a request that has arrived, its wait for makod and for the database
// included; a report that is cut later would be recorded, but never answered.
func NewServer(handler http.Handler, answerWithin time.Duration, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      answerWithin + writeMargin,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// databaseTimeout bounds the reads of one request, so that a full pool answers with
// a 503 and not with a hang. The writes of package sperr bound themselves, since what
// was begun is finished whatever becomes of the client.
const databaseTimeout = 5 * time.Second

func bounded(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), databaseTimeout)
}
