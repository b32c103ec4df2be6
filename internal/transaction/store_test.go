package transaction

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// permutations are all orders of list.
func permutations[T any](list []T) [][]T {
	if len(list) <= 1 {
		return [][]T{list}
	}
	var all [][]T
	for i := range list {
		rest := slices.Concat(list[:i], list[i+1:])
		for _, p := range permutations(rest) {
			all = append(all, append([]T{list[i]}, p...))
		}
	}
	return all
}

// spelled is a sequence of calls for the name of a test: "A B(A)".
func spelled(calls []Attempt) string {
	var words []string
	for _, a := range calls {
		word := strings.ToUpper(a.ID[:1])
		if a.Initial != a.ID {
			word += "(" + strings.ToUpper(a.Initial[:1]) + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestCalls_of_one_operation_are_done_once_in_whatever_order_they_come(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	original, repeat := attempt(idA, idA), attempt(idB, idA)
	for i, calls := range slices.Concat(
		permutations([]Attempt{original, repeat, attempt(idC, idA)}),
		permutations([]Attempt{original, repeat, attempt(idC, idB)}),
	) {
		// Where C names B, and A has been done before, nobody can know that B belongs to A.
		broken := calls[2].ID == idB && slices.ContainsFunc(calls, func(a Attempt) bool { return a.Initial == idB })
		b.Store = NewStore(b.pool, fmt.Sprintf("tenant %d", i), testRetention)
		b.done = 0
		var last string
		for j, a := range calls {
			logicalID, err := b.serve(t, a)
			if broken && j == 2 {
				wantConflict(t, err, ReasonBound)
				continue
			}
			if err != nil {
				t.Errorf("%s, call %d: %v", spelled(calls), j, err)
			}
			if j > 0 && !broken && logicalID != last {
				t.Errorf("%s: call %d leads to %s, the one before to %s", spelled(calls), j, logicalID, last)
			}
			last = logicalID
		}
		want := 1
		if broken {
			want = 2
		}
		if b.done != want {
			t.Errorf("%s: done %d times, want %d", spelled(calls), b.done, want)
		}
		for _, a := range calls { // again, and by every id alone
			if _, err := b.serve(t, a); (err != nil) != (broken && a.ID == idB) {
				t.Errorf("%s: %s again: %v", spelled(calls), a.ID, err)
			}
		}
		if b.done != want {
			t.Errorf("%s: done %d times after all came again", spelled(calls), b.done)
		}
	}
}

func TestFind_notes_who_has_got_the_answer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do(t, attempt(idB, idA), Entry{Answer: answerOf("x"), At: testNow})
	noted := func() string {
		return ask[string](t, b, `SELECT string_agg(left(transaction_id, 1) || ' ' || logical_id || ' ' || (creation_datetime IS NOT NULL)
			|| ' ' || (received_at IS NOT NULL) || ' ' || replayed, E'\n' ORDER BY transaction_id) FROM api_transaction_attempts`)
	}
	want := "a " + idA + " false false false\nb " + idA + " true true false"
	if diff := cmp.Diff(want, noted()); diff != "" {
		t.Errorf("after the first call (-want +got):\n%s", diff)
	}
	b.find(t, attempt(idC, idA))
	b.find(t, attempt(idA, idA)) // the first one, late
	want = "a " + idA + " true true true\nb " + idA + " true true false\nc " + idA + " true true true"
	if diff := cmp.Diff(want, noted()); diff != "" {
		t.Errorf("after two repetitions (-want +got):\n%s", diff)
	}
}

func TestFind_binds_no_id_of_a_call_that_is_another_one(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do(t, attempt(idA, idA), Entry{Answer: answerOf("x"), At: testNow})
	other := attempt(idB, idA)
	other.Fingerprint = Fingerprint{2}
	_, found, err := b.Find(t.Context(), other, testNow)
	if wantConflict(t, err, ReasonContent); found {
		t.Error("found beside a conflict")
	}
	if n := ask[int](t, b, `SELECT count(*) FROM api_transaction_attempts`); n != 1 {
		t.Errorf("%d ids are known, want the first alone", n)
	}
	b.find(t, attempt(idB, idA)) // B is free for what A asked for
}

func TestIDs_of_two_tenants_do_not_meet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	neighbour := &bench{Store: NewStore(b.pool, otherTenant, testRetention), pool: b.pool}
	tx := b.begin(t)
	if ok, err := b.Claim(t.Context(), tx, attempt(idA, idA), testNow); !ok || err != nil {
		t.Fatalf("Claim = %v, %v", ok, err)
	}
	neighbour.do(t, attempt(idA, idA), Entry{Answer: answerOf("theirs"), At: testNow})
	if err := b.Keep(t.Context(), tx, attempt(idA, idA), Entry{Answer: answerOf("ours"), At: testNow}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for s, want := range map[*bench]string{b: "ours", neighbour: "theirs"} {
		if got := s.find(t, attempt(idB, idA)); string(got.Answer.Body) != want {
			t.Errorf("answer %s, want %s", got.Answer.Body, want)
		}
	}
	// Neither settling nor forgetting reaches over.
	b.exec(t, `UPDATE api_transactions SET state = 'provisional', created_at = $1, expires_at = $1`, testNow.Add(-2*time.Hour))
	if _, err := b.Settle(t.Context(), idA, ptr(answerOf("settled")), testNow); err != nil {
		t.Fatal(err)
	}
	b.forget(t, testNow)
	if got := neighbour.find(t, attempt(idA, idA)); got.Final || string(got.Answer.Body) != "theirs" {
		t.Errorf("record of the other tenant = %+v", got)
	}
}

func ptr[T any](v T) *T { return &v }

func TestClaim_waits_for_nobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.begin(t)
	if ok, err := b.Claim(t.Context(), first, attempt(idB, idA), testNow); !ok || err != nil {
		t.Fatalf("Claim = %v, %v", ok, err)
	}
	// On one goroutine, while the first transaction is open: whoever waited would wait for ever.
	for _, a := range []Attempt{
		attempt(idB, idA), attempt(idA, idA), attempt(idB, idB), attempt(idC, idA), attempt(idC, idB), attempt(idA, idC), attempt(idB, idC),
	} {
		if _, found, err := b.Find(t.Context(), a, testNow); found || err != nil {
			t.Errorf("Find(%s) = %v, %v; want nothing", spelled([]Attempt{a}), found, err)
		}
		tx := b.begin(t)
		if ok, err := b.Claim(t.Context(), tx, a, testNow); ok || err != nil {
			t.Errorf("Claim(%s) = %v, %v; want that it is taken", spelled([]Attempt{a}), ok, err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.do(t, attempt(idD, idC), Entry{Answer: answerOf("another"), At: testNow})
}

func TestClaim_that_is_rolled_back_is_free(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.begin(t)
	if ok, err := b.Claim(t.Context(), first, attempt(idB, idA), testNow); !ok || err != nil {
		t.Fatalf("Claim = %v, %v", ok, err)
	}
	if err := b.Keep(t.Context(), first, attempt(idB, idA), Entry{Answer: answerOf("never"), At: testNow}); err != nil {
		t.Fatal(err)
	}
	if err := first.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, found, err := b.Find(t.Context(), attempt(idB, idA), testNow); found || err != nil {
		t.Fatalf("Find = %v, %v; want nothing", found, err)
	}
	b.do(t, attempt(idC, idA), Entry{Answer: answerOf("second"), At: testNow})
	if got := b.find(t, attempt(idB, idA)); string(got.Answer.Body) != "second" {
		t.Errorf("answer %s", got.Answer.Body)
	}
}

func TestClaim_finds_its_id_taken_after_the_commit_of_another(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do(t, attempt(idB, idA), Entry{Answer: answerOf("x"), At: testNow})
	for _, a := range []Attempt{attempt(idA, idA), attempt(idB, idB), attempt(idC, idA), attempt(idC, idB)} {
		if err := b.tryDo(t.Context(), a, Entry{Answer: answerOf("y"), At: testNow}); !errors.Is(err, errNotClaimed) {
			t.Errorf("%s: %v, want that it is taken", spelled([]Attempt{a}), err)
		}
	}
	if n := ask[int](t, b, `SELECT count(*) FROM api_transaction_attempts`); n != 2 {
		t.Errorf("%d ids are known: a claim in vain leaves some", n)
	}
}

// The header of a request lets no other characters into an id than these, and no more
// of them: see readIdentifiers in internal/api. A NUL, which PostgreSQL keeps in no
// text, is the one that would be refused here; nothing is cut or mended on the way.
func TestIDs_of_any_visible_characters_are_told_apart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var visible strings.Builder
	for c := '!'; c <= '~'; c++ {
		visible.WriteRune(c)
	}
	long := KeyPrefix + strings.Repeat("k", 254)
	for _, id := range []string{KeyPrefix + visible.String(), KeyPrefix + "%", KeyPrefix + "_", KeyPrefix + `\`, KeyPrefix + "NULL", long + "1", long + "2", idA} {
		a := attempt(id, id)
		a.CreatedAt = time.Time{}
		b.do(t, a, Entry{Answer: answerOf(id), At: testNow})
		if got := b.find(t, a); got.LogicalID != id || string(got.Answer.Body) != id {
			t.Errorf("%q leads to %q", id, got.LogicalID)
		}
	}
	for _, id := range []string{KeyPrefix + "k\x00", KeyPrefix + "\xff"} {
		if _, found, err := b.Find(t.Context(), attempt(id, id), testNow); found || err == nil {
			t.Errorf("%q: found %v, %v; want an error of the database", id, found, err)
		}
	}
}

func TestClaim_without_an_answer_cannot_be_committed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tx := b.begin(t)
	if ok, err := b.Claim(t.Context(), tx, attempt(idA, idA), testNow); !ok || err != nil {
		t.Fatalf("Claim = %v, %v", ok, err)
	}
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("an id without its operation is left behind")
	}
}

func TestCalls_at_once_are_done_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const operations, callers = 10, 8
	var race sync.WaitGroup
	won := make([][]error, operations)
	for i := range operations {
		won[i] = make([]error, callers)
		initial := uuid.NewString()
		for j := range callers {
			a := attempt(uuid.NewString(), initial)
			race.Go(func() { won[i][j] = b.tryDo(t.Context(), a, Entry{Answer: answerOf(a.ID), At: testNow}) })
		}
	}
	race.Wait()
	for i, errs := range won {
		winners := 0
		for _, err := range errs {
			if err == nil {
				winners++
			} else if !errors.Is(err, errNotClaimed) {
				t.Errorf("operation %d: %v", i, err)
			}
		}
		if winners != 1 {
			t.Errorf("operation %d was done %d times", i, winners)
		}
	}
}

func TestAnswer_comes_back_as_it_was_kept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := ask[uuid.UUID](t, b, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type)
		VALUES ($1, '51238696012', '9900012345678', 'sperrung') RETURNING id`, testTenant)
	for name, want := range map[string]Answer{
		"text":          {Status: 201, Header: map[string]string{"Content-Type": "application/json", "Location": "/x/ä"}, Body: []byte(`{"b":1, "a":2, "a":3}` + "\n")},
		"nothing":       {Status: 204, Header: map[string]string{}, Body: []byte{}},
		"nil":           {Status: 204},
		"no UTF-8":      {Status: 200, Header: map[string]string{"Content-Type": "x"}, Body: []byte{0xff, 0xfe, 0, '\r', '\n', 0}},
		"every byte":    {Status: 599, Header: map[string]string{"a": "", "b": `"\`}, Body: allBytes()},
		"a large table": {Status: 409, Header: map[string]string{}, Body: slices.Repeat(allBytes(), 400)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attempt(uuid.NewString(), uuid.NewString())
			b.do(t, a, Entry{OrderID: order, Answer: want, At: testNow})
			got := b.find(t, a)
			if !sameAnswer(want, got.Answer) || got.OrderID != order || !got.Final || got.LogicalID != a.Initial {
				t.Errorf("record = %+v", got)
			}
			a = attempt(uuid.NewString(), uuid.NewString())
			b.do(t, a, Entry{Answer: answerOf("not yet"), Provisional: true, At: testNow})
			settled, err := b.Settle(t.Context(), a.Initial, &want, testNow)
			if got := b.find(t, a); err != nil || !sameAnswer(want, settled) || !sameAnswer(want, got.Answer) || got.OrderID != uuid.Nil || !got.Final {
				t.Errorf("settled: %+v, %v, record %+v", settled, err, got)
			}
		})
	}
}

func allBytes() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

func TestKeep_writes_what_a_human_reads(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := attempt(idB, idA)
	a.Reference = idD
	b.do(t, a, Entry{Answer: answerOf("x"), Provisional: true, At: testNow})
	b.do(t, attempt(idC, idC), Entry{Answer: answerOf("x"), At: testNow})
	got := ask[string](t, b, `SELECT string_agg(concat_ws('|', logical_id, executed_by, principal, operation, COALESCE(reference_id, '-'), state,
			created_at = $1, COALESCE((settled_at = $1)::text, '-'), expires_at - created_at), E'\n' ORDER BY logical_id) FROM api_transactions`, testNow)
	want := strings.Join([]string{
		idA + "|" + idB + "|https://idp anna|PUT /x|" + idD + "|provisional|t|-|90 days 01:05:00",
		idC + "|" + idC + "|https://idp anna|PUT /x|-|final|t|true|90 days 01:05:00",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSettle_gives_all_who_settle_one_answer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do(t, attempt(idA, idA), Entry{Answer: answerOf("provisional"), Provisional: true, At: testNow})
	if got := b.find(t, attempt(idA, idA)); got.Final || string(got.Answer.Body) != "provisional" {
		t.Fatalf("record = %+v", got)
	}
	const settlers = 12
	answers := make([]Answer, settlers)
	errs := make([]error, settlers)
	var race sync.WaitGroup
	for i := range settlers {
		own := ptr(answerOf(fmt.Sprint(i)))
		if i%3 == 0 {
			own = nil // as it stands
		}
		race.Go(func() { answers[i], errs[i] = b.Settle(t.Context(), idA, own, testNow) })
	}
	race.Wait()
	stands := b.find(t, attempt(idB, idA))
	if err := errors.Join(errs...); err != nil || !stands.Final {
		t.Fatalf("record = %+v, %v", stands, err)
	}
	for i, got := range answers {
		if !sameAnswer(stands.Answer, got) {
			t.Errorf("settler %d got %s, but %s stands", i, got.Body, stands.Answer.Body)
		}
	}
	if again, err := b.Settle(t.Context(), idA, ptr(answerOf("late")), testNow); err != nil || !sameAnswer(stands.Answer, again) {
		t.Errorf("settled once more: %s, %v", again.Body, err)
	}
	if _, err := b.Settle(t.Context(), idB, nil, testNow); err == nil {
		t.Error("what is not there was settled")
	}
}
