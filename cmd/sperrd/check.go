package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sperrd/internal/config"
)

// checkTimeout bounds the whole check.
const checkTimeout = 30 * time.Second

// checkCommand looks at everything that a start and the work after it need. It
// changes nothing.
type checkCommand struct{}

// Run prints a line for each finding and fails if one of them does.
func (checkCommand) Run(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	f := &findings{out: p.stdout}
	if cfg := f.configuration(p); cfg != nil {
		f.webhookSecret(cfg)
		f.calendar(cfg, p.now())
		f.idempotency(cfg)
		f.database(ctx, cfg, p.now)
		f.tokens(ctx, cfg, p.now)
		f.makod(ctx, cfg)
		f.erp(ctx, cfg)
	}
	if f.failed {
		return errReported
	}
	return nil
}

// idempotency says how calls are recognised that come again.
func (f *findings) idempotency(cfg *config.Config) {
	unnamed := "carried out as often as they come"
	if cfg.Idempotency.Required {
		unnamed = "refused"
	}
	f.ok("idempotency", fmt.Sprintf("calls are remembered for %d hours; those without ids are %s",
		int(cfg.Idempotency.Retention.Hours()), unnamed))
}

// findings prints what a check finds: how it stands, what was looked at, and how
// it is or what to do. No line holds a secret.
type findings struct {
	out    io.Writer
	failed bool
}

func (f *findings) ok(what, text string)   { f.print("ok", what, text) }
func (f *findings) warn(what, text string) { f.print("warn", what, text) }

func (f *findings) fail(what, text string) {
	f.failed = true
	f.print("fail", what, text)
}

func (f *findings) print(level, what, text string) {
	_, _ = fmt.Fprintf(f.out, "%-4s  %-13s  %s\n", level, what, oneLine(text))
}

// oneLine joins the lines of an error, of which some have several.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// configuration returns nil where there is none to check the rest with.
func (f *findings) configuration(p *process) *config.Config {
	const what = "configuration"
	cfg, _, err := p.load()
	var all *config.Error
	if errors.As(err, &all) {
		for _, problem := range all.Problems {
			f.fail(what, all.Path+": "+problem.String())
		}
		return nil
	}
	if err != nil {
		f.fail(what, err.Error())
		return nil
	}
	f.ok(what, p.configPath())
	for _, warning := range warnings(cfg) {
		f.warn(what, warning)
	}
	return cfg
}

func (f *findings) webhookSecret(cfg *config.Config) {
	const what = "webhook"
	switch n := len(cfg.InboundHMACSecrets); n {
	case 0:
		f.warn(what, "no secret: set inbound_hmac_secret, or anybody can queue a disconnection")
	case 1:
		f.ok(what, "one secret")
	default:
		f.ok(what, fmt.Sprintf("%d secrets, each of which verifies; remove the old ones once the sender has changed over", n))
	}
}

// makod asks for life only: its answer says nothing about the API key.
func (f *findings) makod(ctx context.Context, cfg *config.Config) {
	const what = "makod"
	client, err := newMakodClient(cfg)
	if err != nil {
		f.fail(what, err.Error())
		return
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		f.fail(what, "check that it runs and that makod_url is right; outcomes stay queued meanwhile: "+err.Error())
		return
	}
	f.ok(what, "reachable")
}
