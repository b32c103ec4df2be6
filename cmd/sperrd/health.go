package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	healthTimeout = 3 * time.Second
	// maxHealthAnswer bounds what is shown of an answer, in bytes.
	maxHealthAnswer = 1 << 10
)

// healthCommand asks the service in the same container for its readiness.
type healthCommand struct{}

// Run ends with 0 or 1 only: Docker reserves 2 in a health check.
func (healthCommand) Run(ctx context.Context, p *process) error {
	cfg, _, err := p.load()
	var usage usageError
	if errors.As(err, &usage) {
		return usage.error
	}
	if err != nil {
		return err
	}
	if err := askReady(ctx, cfg.Port); err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	_, err = fmt.Fprintln(p.stdout, "ready")
	return err
}

// askReady is nil when the service on this port of this machine is ready. Its
// transport knows no proxy, which could not reach this machine's loopback.
func askReady(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	url := fmt.Sprintf("http://127.0.0.1:%d/health/ready", port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxHealthAnswer))
	if err != nil {
		return fmt.Errorf("%s: %w", response.Status, err)
	}
	return fmt.Errorf("%s: %s", response.Status, oneLine(string(body)))
}
