package transaction

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// expired are the logical ids of what may be forgotten at a moment.
func (b *bench) expired(t *testing.T, at time.Time) (ids []string, more bool) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		list, full, err := b.Expired(t.Context(), tx, at)
		for _, e := range list {
			ids = append(ids, e.LogicalID)
		}
		more = full
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids, more
}

// forget forgets all that may be forgotten at a moment.
func (b *bench) forget(t *testing.T, at time.Time) {
	t.Helper()
	ids, _ := b.expired(t, at)
	if err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error { return b.Forget(t.Context(), tx, ids) }); err != nil {
		t.Fatal(err)
	}
}

// retained is when what was done at testNow may be forgotten.
var retained = testNow.Add(testRetention + FutureSkew + notedFor)

func TestExpired_is_what_nobody_has_repeated_for_the_retention(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do(t, attempt(idB, idA), Entry{Answer: answerOf("x"), At: testNow})
	b.do(t, attempt(idD, idD), Entry{Answer: answerOf("x"), Provisional: true, At: testNow})
	if ids, _ := b.expired(t, retained.Add(-time.Microsecond)); len(ids) != 0 {
		t.Errorf("%v is forgotten too early: its creationDateTime is taken to the last", ids)
	}
	ids, more := b.expired(t, retained)
	if diff := cmp.Diff([]string{idA}, ids); diff != "" || more {
		t.Errorf("more %v, expired (-want +got):\n%s", more, diff)
	}
}

func TestExpired_is_nothing_that_was_repeated_of_late(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do(t, attempt(idA, idA), Entry{Answer: answerOf("x"), At: testNow})
	if _, found, err := b.Find(t.Context(), attempt(idB, idA), testNow.Add(time.Hour)); !found || err != nil {
		t.Fatalf("Find = %v, %v", found, err)
	}
	if ids, _ := b.expired(t, retained.Add(time.Hour-time.Microsecond)); len(ids) != 0 {
		t.Errorf("%v is forgotten although it was repeated an hour later", ids)
	}
	if ids, _ := b.expired(t, retained.Add(time.Hour)); len(ids) != 1 {
		t.Errorf("expired are %v, want the operation", ids)
	}
}

// Within the hour in which a repetition is not noted, its creationDateTime counts all the
// same: whatever is taken is recognised.
func TestExpired_is_nothing_whose_last_creationDateTime_is_still_taken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do(t, attempt(idA, idA), Entry{Answer: answerOf("x"), At: testNow})
	again := testNow.Add(notedFor)
	if _, found, err := b.Find(t.Context(), attempt(idA, idA), again); !found || err != nil {
		t.Fatalf("Find = %v, %v", found, err)
	}
	if ids, _ := b.expired(t, again.Add(testRetention+FutureSkew-time.Microsecond)); len(ids) != 0 {
		t.Errorf("%v is forgotten, and the call that came last may come again", ids)
	}
	later := again.Add(time.Microsecond)
	if _, found, err := b.Find(t.Context(), attempt(idA, idA), later); !found || err != nil {
		t.Fatalf("Find = %v, %v", found, err)
	}
	if noted := ask[time.Time](t, b, `SELECT received_at FROM api_transaction_attempts`); !noted.Equal(later) {
		t.Errorf("noted at %v, want at %v: the hour is over", noted, later)
	}
}

func TestFind_of_what_is_being_forgotten_waits_for_nobody_and_notes_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do(t, attempt(idA, idA), Entry{Answer: answerOf("x"), At: testNow})
	purge := b.begin(t)
	if list, _, err := b.Expired(t.Context(), purge, retained); err != nil || len(list) != 1 {
		t.Fatalf("Expired = %v, %v", list, err)
	}
	if _, _, err := b.Find(t.Context(), attempt(idB, idA), retained); !errors.Is(err, ErrInProgress) {
		t.Errorf("Find = %v, want that it is being worked on", err)
	}
	if err := errors.Join(b.Forget(t.Context(), purge, []string{idA}), purge.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	if n := ask[int](t, b, `SELECT count(*)::int FROM api_transaction_attempts`); n != 0 {
		t.Errorf("%d ids of an operation that is gone", n)
	}
	b.do(t, attempt(idB, idA), Entry{Answer: answerOf("anew"), At: retained})
}

func TestForget_takes_all_ids_of_an_operation_with_it(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do(t, attempt(idB, idA), Entry{Answer: answerOf("x"), At: testNow})
	b.do(t, attempt(idD, idD), Entry{Answer: answerOf("x"), At: retained})
	b.find(t, attempt(idC, idA))
	b.forget(t, retained)
	if left := ask[[]string](t, b, `SELECT array_agg(transaction_id) FROM api_transaction_attempts`); len(left) != 1 || left[0] != idD {
		t.Errorf("known ids = %v, want that of the young operation", left)
	}
	if _, found, err := b.Find(t.Context(), attempt(idC, idA), retained); found || err != nil {
		t.Errorf("Find = %v, %v; want nothing", found, err)
	}
	b.do(t, attempt(idC, idA), Entry{Answer: answerOf("anew"), At: retained})
}

func TestPostpone_keeps_an_operation_for_a_day(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []string{idA, idB} {
		b.do(t, attempt(id, id), Entry{Answer: answerOf("x"), At: testNow})
	}
	if err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		return b.Postpone(t.Context(), tx, []string{idA}, retained)
	}); err != nil {
		t.Fatal(err)
	}
	if ids, _ := b.expired(t, retained.Add(24*time.Hour-time.Microsecond)); len(ids) != 1 || ids[0] != idB {
		t.Errorf("expired are %v, want the other one alone", ids)
	}
	if ids, _ := b.expired(t, retained.Add(24*time.Hour)); len(ids) != 2 {
		t.Errorf("expired are %v, want both", ids)
	}
}

func TestSettleAbandoned_makes_final_what_nobody_settles_any_more(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do(t, attempt(idA, idA), Entry{Answer: answerOf("old"), Provisional: true, At: testNow.Add(-time.Hour - time.Microsecond)})
	b.do(t, attempt(idB, idB), Entry{Answer: answerOf("young"), Provisional: true, At: testNow.Add(-time.Hour)})
	if err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error { return b.SettleAbandoned(t.Context(), tx, testNow) }); err != nil {
		t.Fatal(err)
	}
	if got := b.find(t, attempt(idA, idA)); !got.Final || string(got.Answer.Body) != "old" {
		t.Errorf("an hour old: %+v, want its answer as it stands", got)
	}
	if got := b.find(t, attempt(idB, idB)); got.Final {
		t.Error("a call that may be under way is settled")
	}
	if answer, err := b.Settle(t.Context(), idA, ptr(answerOf("late")), testNow); err != nil || string(answer.Body) != "old" {
		t.Errorf("whoever settles late gets %s, %v", answer.Body, err)
	}
}

func TestExpired_comes_in_groups_that_two_replicas_share(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO api_transactions (tenant, logical_id, principal, operation, fingerprint, fingerprint_version, executed_by, state,
			status_code, response_headers, response_body, created_at, expires_at)
		SELECT $1, gen_random_uuid(), '', '', '', 1, '', 'final', 204, '{}', '', $2::timestamptz - interval '400 days', $2 FROM generate_series(1, $3)`, testTenant, testNow, maxForgotten+3)
	one, other := b.begin(t), b.begin(t)
	first, more, err := b.Expired(t.Context(), one, testNow)
	rest, moreRest, errRest := b.Expired(t.Context(), other, testNow) // does not wait for the first
	if errors.Join(err, errRest) != nil || len(first) != maxForgotten || !more || len(rest) != 3 || moreRest {
		t.Errorf("%d operations, more %v, then %d, more %v; %v, %v", len(first), more, len(rest), moreRest, err, errRest)
	}
	if first[0].OrderID != uuid.Nil {
		t.Errorf("order %v of an operation without one", first[0].OrderID)
	}
}
