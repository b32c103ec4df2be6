package api_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
)

// logBuffer is a log that a test reads.
type logBuffer struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{} // closed by the next line; nil while nobody waits
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// await waits for text to stand in the log.
func (l *logBuffer) await(t *testing.T, text string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		l.mu.Lock()
		found := strings.Contains(l.buf.String(), text)
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("the log does not say %s:\n%s", text, l)
		}
	}
}

// requests are the lines of requests, oldest first.
func (l *logBuffer) requests(t *testing.T) []map[string]any {
	t.Helper()
	return l.lines(t, "request")
}

// lines are those of the log that say msg, oldest first.
func (l *logBuffer) lines(t *testing.T, msg string) (found []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		if fields["msg"] == msg {
			found = append(found, fields)
		}
	}
	return found
}
