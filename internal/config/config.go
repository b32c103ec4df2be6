// Package config reads sperrd.toml: strictly, and with every problem at once.
//
// Strict means that a misspelt key, or one of a part that this version does not
// have, stops the start instead of being ignored. No value is ever part of an
// error, and a secret prints as a fixed text wherever it goes. The package reads
// the environment only through the function it is given.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"sperrd/internal/werktag"
)

// PruefschrittCheck says what happens to a report whose Pruefschritt code does
// not fit the order.
type PruefschrittCheck string

// The two ways to treat a code that does not fit: refuse the report, or record
// it with a warning.
const (
	PruefschrittRefuse PruefschrittCheck = "refuse"
	PruefschrittWarn   PruefschrittCheck = "warn"
)

// Config is a configuration file that has passed every check.
type Config struct {
	// Port is where the service listens, on all interfaces.
	Port int
	// Tenant is the MP-ID of the Netzbetreiber: 13 digits.
	Tenant string
	// MakodURL is the base of makod's command API, without a trailing slash.
	MakodURL string
	// MakodAPIKey goes to makod with every command.
	MakodAPIKey Secret
	// InboundHMACSecrets are the secrets of POST /webhook; each of them
	// verifies. None means that nothing is verified, which is only possible
	// with AllowInsecureNoAuth.
	InboundHMACSecrets []Secret
	// ERPWebhookURL is where the events for the ERP go; empty where they stay in
	// event_outbox. Its query may hold a token, so all of it is a secret.
	ERPWebhookURL Secret
	// ERPHMACSecret signs what goes to ERPWebhookURL; empty where that is.
	ERPHMACSecret Secret
	// AllowInsecureNoAuth lets the service start where OIDC or InboundHMACSecrets are
	// missing. It switches nothing off that is there.
	AllowInsecureNoAuth bool
	PruefschrittCheck   PruefschrittCheck
	// ShutdownGrace bounds how long a stopping process finishes what it has
	// begun.
	ShutdownGrace time.Duration
	Database      Database
	OIDC          OIDC
	MCP           MCP
	Log           Log
	IFTSTA        IFTSTA
	Frist         Frist
	Outbox        Outbox
	Idempotency   Idempotency
	Tracing       Tracing
	Retention     Retention
}

// Database is the section [database].
type Database struct {
	// URL holds the password, so all of it is a secret.
	URL Secret
	// PoolSize is the highest number of connections of this process.
	PoolSize int
}

// OIDC is the section [oidc]: whose tokens count. Without it both are empty and no
// token is checked, which is only possible with AllowInsecureNoAuth.
type OIDC struct {
	// Issuer is the provider as its tokens and its discovery document spell it.
	Issuer string
	// Audience must be one of those that a token is for.
	Audience string
}

// MCP is the section [mcp].
type MCP struct {
	// APIKey is what an MCP client without a token of the provider sends as a bearer.
	// Empty: there is none.
	APIKey Secret
}

// Log is the section [log].
type Log struct {
	Format string // "json" or "text"
	Level  string // "debug", "info", "warn" or "error"
}

// IFTSTA is the section [iftsta]: how outcomes go to makod.
type IFTSTA struct {
	// MaxAttempts is after how many attempts an outcome waits for a human.
	MaxAttempts int
	// FirstBackoff is the pause after the first failed attempt, MaxBackoff the
	// longest one.
	FirstBackoff, MaxBackoff time.Duration
	// RequestTimeout bounds one command to makod.
	RequestTimeout time.Duration
	// Lease is how long a claimed outcome belongs to the process that claimed
	// it. It outlasts the wait for MaxPerSecond and RequestTimeout, so that no
	// other process sends meanwhile.
	Lease time.Duration
	// PollInterval is how often the retry queue is looked at when nothing wakes
	// its worker.
	PollInterval time.Duration
	// Parallelism is how many outcomes the worker has in hand at the same time.
	Parallelism int
	// MaxPerSecond is how many commands the worker sends in a second; 0 is no
	// limit.
	MaxPerSecond int
}

// Frist is the section [frist]: how Fristen are counted, and what is overdue found.
type Frist struct {
	// ScanInterval is how often the Fristen are looked at.
	ScanInterval time.Duration
	// ExtraHolidays are days that the built-in calendar does not know as holidays:
	// each once, inside its years.
	ExtraHolidays []werktag.Date
}

// Outbox is the section [outbox]: how events go to the ERP.
type Outbox struct {
	// GiveUpAfter is how long an event is tried, from its first attempt.
	GiveUpAfter time.Duration
	// RequestTimeout bounds one delivery.
	RequestTimeout time.Duration
	// Lease is how long a claimed event belongs to the process that claimed it.
	// It outlasts RequestTimeout.
	Lease time.Duration
	// PollInterval is how often the outbox is looked at when nothing wakes its
	// worker.
	PollInterval time.Duration
	// Parallelism is how many events are delivered at the same time.
	Parallelism int
	// Retention is how long a delivered event is kept.
	Retention time.Duration
}

// Idempotency is the section [idempotency]: how calls that change something are
// recognised when they come again.
type Idempotency struct {
	// Retention is how long a call and its answer are remembered. It also bounds how
	// old a creationDateTime may be: of a call from before nobody knows any more
	// whether it was carried out.
	Retention time.Duration
	// Required refuses a call that changes something and names no transaction.
	Required bool
}

// Tracing is the section [tracing]: where spans go.
type Tracing struct {
	// Endpoint is the base URL of a collector that takes OTLP over HTTP, without a
	// trailing slash. Empty: the environment may name one.
	Endpoint string
	// SampleRatio is which part of the traces that begin here is recorded.
	SampleRatio float64
}

// Retention is the section [retention]: how long address and free text of closed orders
// are kept.
type Retention struct {
	// RedactAfter is how long an order is closed and unchanged before its address and
	// free text are replaced; 0: they are kept.
	RedactAfter time.Duration
}

// Path returns the configuration file to read: the flag --config, else the
// variable SPERRD_CONFIG, else sperrd.toml in the working directory.
func Path(flag string, getenv func(string) (string, bool)) string {
	if flag != "" {
		return flag
	}
	if path, _ := getenv("SPERRD_CONFIG"); path != "" {
		return path
	}

	return "sperrd.toml"
}

// Load reads the configuration file. The error of a file with anything wrong in
// it is an *Error that holds all of it; a file that cannot be read is named.
// getenv is os.LookupEnv outside tests.
func Load(path string, getenv func(string) (string, bool)) (*Config, error) {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no configuration at %s (name another file with --config or SPERRD_CONFIG): %w", path, fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	doc, problem := parse(content, getenv)
	if problem != nil {
		return nil, newError(path, []Problem{*problem})
	}
	c := doc.config()
	if err := newError(path, doc.problems); err != nil {
		return nil, err
	}

	return c, nil
}
