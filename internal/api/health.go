package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// readyTimeout bounds the look at the database for one probe.
const readyTimeout = 2 * time.Second

// handleLive says that the process serves. It asks no database: an outage of that
// must not restart every replica.
func (s *server) handleLive(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusOK)
	return nil
}

// readiness is the body of a 200: whether requests may be sent here, and what an
// operator should know all the same.
type readiness struct {
	Ready    bool     `json:"ready"`
	Warnings []string `json:"warnings"`
}

// warningNoKeys is told while no request can be authenticated. The webhook and the
// background work need no token, so that the service is ready all the same: taking it
// out of the balance would stop those as well.
const warningNoKeys = "tokens cannot be checked yet: the keys of their issuer are missing, the log says why; REST answers 503"

// handleReady says whether requests may be sent here.
func (s *server) handleReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		return fmt.Errorf("%w: not ready: %w", errUnavailable, err)
	}
	body := readiness{Ready: true, Warnings: slices.Clone(s.Warnings)}
	if n := s.Authorizer.Failures(); n > 0 {
		body.Warnings = append(body.Warnings, fmt.Sprintf("policies could not be evaluated for %d requests, which were denied; the log has the reason", n))
	}
	if s.Authenticator != nil && s.Authenticator.Keys() == 0 {
		body.Warnings = append(body.Warnings, warningNoKeys)
	}
	return writeJSON(w, http.StatusOK, body)
}
