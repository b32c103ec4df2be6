package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"sperrd/internal/config"
)

const (
	// checkTimeout bounds the whole check.
	checkTimeout = 30 * time.Second
	// neighbourTimeout bounds the look at a neighbour other than the database.
	neighbourTimeout = 15 * time.Second
)

// checkCommand looks at everything that a start and the work after it need. It
// changes nothing.
type checkCommand struct {
	JSON   bool `name:"json" help:"Print one JSON document."`
	Strict bool `help:"Let warnings fail too."`
}

// Run prints what it finds and fails if one of the findings does.
func (c checkCommand) Run(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	v := newVerdict(examine(ctx, p), c.Strict)
	write := v.writeText
	if c.JSON {
		write = v.writeJSON
	}
	if err := write(p.stdout); err != nil {
		return fmt.Errorf("write the findings: %w", err)
	}
	if !v.OK {
		return errReported
	}
	return nil
}

// examine looks at everything. What needs nobody else comes first.
func examine(ctx context.Context, p *process) []finding {
	var f findings
	cfg := f.configuration(p)
	if cfg == nil {
		return f.list
	}
	f.secrets(p)
	f.transport(cfg)
	f.webhookSecret(cfg)
	f.calendar(cfg, p.now())
	f.berlin()
	f.idempotency(cfg)
	// A part for each neighbour.
	return append(f.list, sideBySide(
		func(f *findings) { f.database(ctx, cfg, p.now) },
		func(f *findings) { f.tokens(ctx, cfg, p.now) },
		func(f *findings) { f.makod(ctx, cfg) },
		func(f *findings) { f.erp(ctx, cfg) },
	)...)
}

// sideBySide lets a neighbour that hangs take nothing of the time of the others. The
// findings come in the order of the parts, each of which ends soon after its context.
func sideBySide(parts ...func(*findings)) []finding {
	found := make([]findings, len(parts))
	var wait sync.WaitGroup
	for i, part := range parts {
		wait.Go(func() { part(&found[i]) })
	}
	wait.Wait()
	var all []finding
	for _, f := range found {
		all = append(all, f.list...)
	}
	return all
}

// configuration returns nil where there is none to check the rest with.
func (f *findings) configuration(p *process) *config.Config {
	const what, explained = "configuration", "sperrd.toml.example explains the key"
	cfg, _, err := p.load()
	var all *config.Error
	if errors.As(err, &all) {
		for _, problem := range all.Problems {
			f.fail(what, all.Path+": "+problem.String(), "correct the file, sperrd.toml.example explains every key")
		}
		return nil
	}
	if err != nil {
		f.fail(what, err.Error(), "correct the file or name another one with --config")
		return nil
	}
	f.ok(what, p.configPath())
	for _, warning := range warnings(cfg) {
		f.warn(what, warning, explained)
	}
	return cfg
}

func (f *findings) webhookSecret(cfg *config.Config) {
	const what = "webhook"
	switch n := len(cfg.InboundHMACSecrets); n {
	case 0:
		f.warn(what, "no secret, so that anybody can queue a disconnection", "set inbound_hmac_secret")
	case 1:
		f.ok(what, "one secret")
	default:
		f.note(what, fmt.Sprintf("%d secrets, each of which verifies", n), "remove the old ones once the sender has changed over")
	}
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

// transport looks at what goes to other machines as everybody on the way can read it.
func (f *findings) transport(cfg *config.Config) {
	const what = "transport"
	plain := cfg.ClearText()
	for _, key := range plain {
		f.warn(what, key+" is not https: whoever sits between reads keys, MaLos and outcomes", "use https, also inside a cluster")
	}
	if !f.databaseTransport(what, cfg) && len(plain) == 0 {
		f.ok(what, "makod, ERP and database are reached encrypted or on this machine")
	}
}

// oneLine joins the lines of an error, of which some have several.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
