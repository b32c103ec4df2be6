package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// maxNotice is the longest time between "not ready" and the end of the listener.
const maxNotice = 2 * time.Second

var (
	errStopping = errors.New("the service is stopping")
	// errCut ends a stop that took longer than it may.
	errCut = errors.New("shutdown_grace has passed and requests or deliveries were still running: they were cut; " +
		"an outcome whose answer from makod is still missing stays queued under its idempotency key, and so does an event for the ERP")
)

// ready says why the service takes no work, or nil. A database that only reads,
// as a standby does after a failover, can record nothing.
func (s *service) ready(ctx context.Context) error {
	if s.stopping.Load() {
		return errStopping
	}
	var readOnly bool
	if err := s.pool.QueryRow(ctx, "SELECT current_setting('transaction_read_only')::boolean").Scan(&readOnly); err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	if readOnly {
		return errors.New("the database is read-only")
	}
	return nil
}

// serve answers requests and runs the loops until ctx ends, and then until what has
// begun is finished. The error is errCut where shutdown_grace was not enough for that.
func (s *service) serve(ctx context.Context, server *http.Server, background loops, listener net.Listener) error {
	defer s.keepKeys(ctx)() // for as long as anybody may come with a token
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	stopLoops, loopsEnded := background.start(ctx)
	s.logger.Info("listening", "address", listener.Addr().String())
	select {
	case err := <-ended:
		stopLoops()
		return errors.Join(fmt.Errorf("serve: %w", err), s.stop(context.WithoutCancel(ctx), server, loopsEnded))
	case <-ctx.Done():
	}
	stopLoops() // what they do not begin now is begun by another replica, or at the next start
	err := s.stop(context.WithoutCancel(ctx), server, loopsEnded)
	if cause := <-ended; !errors.Is(cause, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve: %w", cause))
	}
	return err
}

// stop tells everybody first and closes the listener after that, so that a load
// balancer learns of the end from the probe and not from refused connections.
// Requests under way keep their clients, their command to makod and the database;
// so does what the loops have in hand.
func (s *service) stop(ctx context.Context, server *http.Server, loopsEnded <-chan struct{}) error {
	grace := s.config.ShutdownGrace
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	s.stopping.Store(true)
	s.logger.Info("stopping: no longer ready, what has begun is finished", "shutdown_grace", grace.String())
	notice := time.NewTimer(min(grace/10, maxNotice))
	defer notice.Stop()
	<-notice.C

	err := server.Shutdown(ctx)
	select {
	case <-loopsEnded:
	case <-ctx.Done():
		select {
		case <-loopsEnded: // both at once
		default:
			err = errors.Join(err, ctx.Err())
		}
	}
	switch {
	case err == nil:
		s.logger.Info("stopped")
		return nil
	case ctx.Err() != nil:
		return errors.Join(errCut, server.Close())
	default:
		return fmt.Errorf("stop: %w", err)
	}
}
