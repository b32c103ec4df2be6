package outbox

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// take claims at most limit events and returns their ids.
func (b *bench) take(t *testing.T, limit int) []string {
	t.Helper()
	claims, err := b.claim(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, c := range claims {
		ids = append(ids, c.eventID)
	}
	return ids
}

// dueSince makes an event due at a time of its own.
func (b *bench) dueSince(t *testing.T, id, ago string) {
	t.Helper()
	b.exec(t, fmt.Sprintf(`UPDATE event_outbox SET next_attempt_at = now() - interval '%s' WHERE event_id = '%s'`, ago, id))
}

// newQueue has events a to f, due in this order.
func newQueue(t *testing.T) (b *bench, clock *time.Time) {
	t.Helper()
	b = newBench(t)
	now := time.Now()
	b.queue.now = func() time.Time { return now }
	for i, id := range []string{"a", "b", "c", "d", "e", "f"} {
		b.one(t, id)
		b.dueSince(t, id, fmt.Sprint(60-i, " s"))
	}
	return b, &now
}

func TestAClaimGoesOnWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	b, _ := newQueue(t)
	got := [][]string{b.take(t, 2)}
	b.exec(t, `UPDATE event_outbox SET attempts = 0 WHERE event_id = 'a'`)
	b.dueSince(t, "a", "1 h") // due again, below
	got = append(got, b.take(t, 2), b.take(t, 3))
	if diff := cmp.Diff([][]string{{"a", "b"}, {"c", "d"}, {"e", "f", "a"}}, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

func TestWhatComesDueBelowWaitsForASecondAtMost(t *testing.T) {
	t.Parallel()
	b, clock := newQueue(t)
	b.take(t, 2)
	b.exec(t, `UPDATE event_outbox SET attempts = 0 WHERE event_id = 'a'`)
	b.dueSince(t, "a", "1 h")
	*clock = clock.Add(floorAge)
	if diff := cmp.Diff([]string{"a", "c"}, b.take(t, 2)); diff != "" {
		t.Errorf("claim after a second (-want +got):\n%s", diff)
	}
}

func TestEventsThatAreDueAtTheSameMomentAreAllClaimed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 50) // enqueued by one statement
	seen := map[string]bool{}
	for range 5 {
		for _, id := range b.take(t, 10) {
			seen[id] = true
		}
	}
	if len(seen) != 50 || len(b.take(t, 10)) != 0 {
		t.Errorf("%d events were claimed, want the first one of each order", len(seen))
	}
}

func TestAnEventThatCannotBeReadKeepsNoOtherFromBeingClaimed(t *testing.T) {
	t.Parallel()
	b, _ := newQueue(t)
	b.exec(t, `UPDATE event_outbox SET next_attempt_at = '-infinity' WHERE event_id = 'b'`)
	if diff := cmp.Diff([]string{"a", "c", "d"}, b.take(t, 3)); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}
	if got := b.row(t, "e"); got.Attempts != 0 {
		t.Errorf("row = %+v", got)
	}
}
