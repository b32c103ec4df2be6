package mcpserver

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestRead_lets_no_more_calls_to_the_database_than_it_has_hands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{hands: make(chan struct{}, 2)}
		var reading, most atomic.Int64
		slow := tool{answer: func(context.Context, jsontext.Value) (any, error) {
			now := reading.Add(1)
			if now > most.Load() {
				most.Store(now)
			}
			time.Sleep(time.Second) // of the simulated clock
			reading.Add(-1)
			return struct{}{}, nil
		}}
		started := time.Now()
		ended := make(chan error)
		for range 6 {
			go func() {
				_, err := s.read(t.Context(), slow, nil)
				ended <- err
			}()
		}
		for range 6 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(started); most.Load() != 2 || took != 3*time.Second {
			t.Errorf("%d read at the same time, and six calls took %s", most.Load(), took)
		}
	})
}

func TestRead_waits_for_a_hand_no_longer_than_the_call_may_take(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{hands: make(chan struct{}, 1)}
		s.hands <- struct{}{}
		ctx, cancel := context.WithTimeout(t.Context(), databaseTimeout)
		defer cancel()
		_, err := s.read(ctx, tool{}, nil)
		result, level, _ := failed(err)
		if text := result.Content[0].(*mcp.TextContent).Text; text != textUnavailable || level != slog.LevelWarn {
			t.Errorf("%v is told as %q, level %s", err, text, level)
		}
	})
}
