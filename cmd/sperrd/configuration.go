package main

import (
	"fmt"
	"log/slog"
	"time"

	"sperrd/internal/config"
	"sperrd/internal/makod"
	"sperrd/internal/postgres"
	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
	"sperrd/internal/webhook"
)

// configPath is the configuration file that this command line means.
func (p process) configPath() string { return config.Path(p.configFlag, p.lookupEnv) }

// load reads the configuration and opens the log it asks for. Every error is a
// usageError and names the key at fault.
func (p process) load() (*config.Config, *slog.Logger, error) {
	c, err := config.Load(p.configPath(), p.lookupEnv)
	if err != nil {
		return nil, nil, usageError{err}
	}
	if err := postgres.CheckURL(c.Database.URL.Reveal()); err != nil {
		return nil, nil, usageError{fmt.Errorf("database.url: %w", err)}
	}
	logger, err := telemetry.NewLogger(p.stderr, c.Log.Format, c.Log.Level)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("log: %w", err)}
	}
	return c, logger, nil
}

// warnings are what does not stop a start and is still to be said at each one.
func warnings(c *config.Config) []string {
	list := c.Warnings()
	// A wrong check digit is no reason to refuse: codes that do not fit their scheme
	// are in use.
	if w := sperr.MPIDWarning(c.Tenant); w != "" {
		list = append(list, "tenant: "+w+"; if the code is mistyped, market events for the right one are refused")
	}
	return list
}

// newMakodClient returns the client of the makod that the configuration names.
func newMakodClient(c *config.Config) (*makod.Client, error) {
	client, err := makod.NewClient(c.MakodURL, c.MakodAPIKey.Reveal(), c.IFTSTA.RequestTimeout)
	if err != nil {
		return nil, usageError{fmt.Errorf("makod_url, makod_api_key: %w", err)}
	}
	return client, nil
}

// newVerifier returns what checks POST /webhook. It is nil, and everything is
// believed, only where the configuration asks for that by name.
func newVerifier(c *config.Config, now func() time.Time) (*webhook.Verifier, error) {
	if len(c.InboundHMACSecrets) == 0 && c.AllowInsecureNoAuth {
		return nil, nil
	}
	var secrets []string
	for _, secret := range c.InboundHMACSecrets {
		secrets = append(secrets, secret.Reveal())
	}
	verifier, err := webhook.NewVerifier(secrets, now)
	if err != nil {
		return nil, usageError{fmt.Errorf("inbound_hmac_secret: %w", err)}
	}
	return verifier, nil
}
