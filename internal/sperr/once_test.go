package sperr

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/transaction"
)

const (
	idA = "aaaaaaaa-0000-4000-8000-000000000001"
	idB = "bbbbbbbb-0000-4000-8000-000000000002"
	idC = "cccccccc-0000-4000-8000-000000000003"
	idD = "dddddddd-0000-4000-8000-000000000004"
)

// keyed is the call id of the operation that began with initial, made by the team.
func keyed(id, initial string) Call {
	return Call{
		Actor: "team", Answer: plainAnswer,
		Attempt: &transaction.Attempt{ID: id, Initial: initial, CreatedAt: testNow, Principal: "idp team", Operation: "PUT /x"},
	}
}

// plainAnswer tells all that may differ between two answers.
func plainAnswer(r Result, refusal error) (transaction.Answer, error) {
	if refusal != nil {
		return transaction.Answer{Status: http.StatusConflict, Body: []byte(refusal.Error())}, nil
	}
	return transaction.Answer{Status: http.StatusOK, Body: fmt.Appendf(nil, "%s %s, dispatch %d, visits %d, %s",
		r.Order.ID, r.Order.Status, r.IFTSTA, r.Order.Sperrversuche, r.Advice)}, nil
}

// wantReplay fails unless r is the answer of first once more.
func wantReplay(t *testing.T, r Result, err error, first Result) {
	t.Helper()
	if err != nil || r.Answered == nil || !r.Answered.Replayed || first.Answered.Replayed {
		t.Fatalf("result = %+v, %v; want a replay", r, err)
	}
	if diff := cmp.Diff(string(first.Answered.Body), string(r.Answered.Body)); diff != "" || r.Answered.Status != first.Answered.Status {
		t.Errorf("status %d, want %d; body (-first +replay):\n%s", r.Answered.Status, first.Answered.Status, diff)
	}
}

// known is how many operations and ids are known, and how many answers are provisional.
func (b *bench) known(t *testing.T) (counts [3]int) {
	t.Helper()
	for i, from := range []string{"api_transactions", "api_transaction_attempts", "api_transactions WHERE state = 'provisional'"} {
		counts[i] = column[int](t, b.pool, `SELECT count(*)::int FROM `+from)[0]
	}
	return counts
}

// warning is a change that leaves a trace on an order, and ends with err.
func (b *bench) warning(id uuid.UUID, err error) func(context.Context, pgx.Tx) (Result, error) {
	return func(ctx context.Context, tx pgx.Tx) (Result, error) {
		order, _, writing := b.repo.addWarning(ctx, tx, id, "a trace", testNow)
		return Result{Order: order}, errors.Join(writing, err)
	}
}

func TestARefusalUndoesWhatItsChangeHasWrittenAndKeepsItsAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	for i, refusal := range []error{
		&NotPendingError{Order: order}, &NothingToResetError{Order: order}, &ValidationError{Subject: SubjectReport}, fmt.Errorf("order: %w", ErrNotFound),
		&ProcessConflictError{OrderID: order.ID}, &UnreadableError{Cause: errors.New("no JSON")},
		&RejectSettledError{Reject: WebhookReject{Settlement: ptr(SettlementDismissed)}},
	} {
		call := keyed(uuid.NewString(), uuid.NewString())
		first, err := b.service.once(t.Context(), call, b.warning(order.ID, refusal))
		if !errors.Is(err, refusal) || first.Answered == nil || first.Answered.Replayed || first.Answered.OrderID != order.ID {
			t.Fatalf("first call = %+v, %v; want the refusal %v", first, err, refusal)
		}
		if diff := cmp.Diff(order, b.get(t, order.ID)); diff != "" {
			t.Errorf("%v left something behind:\n%s", refusal, diff)
		}
		again, err := b.service.once(t.Context(), keyed(uuid.NewString(), call.Attempt.Initial), b.warning(order.ID, errors.New("asked again")))
		wantReplay(t, again, err, first)
		if got, want := b.known(t), [3]int{i + 1, 3 * (i + 1), 0}; got != want {
			t.Errorf("operations, ids, provisional = %v, want %v", got, want)
		}
	}
}

func TestAnErrorThatIsNoRefusalKeepsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	broken := errors.New("the database is in trouble")
	for _, cause := range []error{broken, &transaction.ConflictError{Reason: transaction.ReasonContent}, context.Canceled} {
		if result, err := b.service.once(t.Context(), keyed(idB, idA), b.warning(order.ID, cause)); !errors.Is(err, cause) || result.Answered != nil {
			t.Errorf("once = %+v, %v; want %v", result, err, cause)
		}
	}
	mute := keyed(idB, idA)
	mute.Answer = func(Result, error) (transaction.Answer, error) { return transaction.Answer{}, broken }
	if _, err := b.service.once(t.Context(), mute, b.warning(order.ID, nil)); !errors.Is(err, broken) {
		t.Errorf("once = %v, want that it has no answer", err)
	}
	if diff := cmp.Diff(order, b.get(t, order.ID)); diff != "" || b.known(t) != [3]int{} {
		t.Errorf("known are %v; the order:\n%s", b.known(t), diff)
	}
	if result, err := b.service.once(t.Context(), keyed(idB, idA), b.warning(order.ID, nil)); err != nil || result.Answered.Replayed {
		t.Errorf("afterwards = %+v, %v; want a first answer", result, err)
	}
}

func TestAPanicKeepsNothingAndNoConnection(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is swallowed")
			}
		}()
		_, _ = b.service.once(t.Context(), keyed(idA, idA), func(ctx context.Context, tx pgx.Tx) (Result, error) {
			_, _ = b.warning(order.ID, nil)(ctx, tx)
			panic("a fault of the program")
		})
	}()
	if n := b.pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections are not given back", n)
	}
	if diff := cmp.Diff(order, b.get(t, order.ID)); diff != "" || b.known(t) != [3]int{} {
		t.Errorf("known are %v; the order:\n%s", b.known(t), diff)
	}
	if result, err := b.service.once(t.Context(), keyed(idB, idA), b.warning(order.ID, nil)); err != nil || result.Answered.Replayed {
		t.Errorf("afterwards = %+v, %v; want a first answer", result, err)
	}
}

func TestWhoseTwinIsUnderWayIsToldSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.TwinWait = 0 })
	order := b.receive(t, pidSperrauftrag, testMalo)
	_, err := b.service.once(t.Context(), keyed(idA, idA), func(ctx context.Context, tx pgx.Tx) (Result, error) {
		for _, twin := range []Call{keyed(idA, idA), keyed(idB, idA)} {
			result, err := b.service.Cancel(ctx, twin, order.ID, "")
			if !errors.Is(err, transaction.ErrInProgress) || result.Answered != nil {
				t.Errorf("twin = %+v, %v; want that the first call is under way", result, err)
			}
		}
		return b.warning(order.ID, nil)(ctx, tx)
	})
	if got := b.known(t); err != nil || got != [3]int{1, 1, 0} || b.get(t, order.ID).Status != StatusPending {
		t.Errorf("known are %v, %v", got, err)
	}
}

func TestATwinWhoseClientHangsUpWaitsNoLonger(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.TwinWait = time.Hour })
	order := b.receive(t, pidSperrauftrag, testMalo)
	gate := b.makod.Hold()
	first := make(chan error)
	go func() { first <- second(b.service.Execute(t.Context(), keyed(idA, idA), order.ID, ExecuteReport{})) }()
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	twin, hangUp := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- second(b.service.Execute(twin, keyed(idB, idA), order.ID, ExecuteReport{})) }()
	patience, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for noted := false; !noted; { // it has found the first call, and waits
		if err := b.pool.QueryRow(patience, `SELECT EXISTS (SELECT FROM api_transaction_attempts WHERE transaction_id = $1)`, idB).Scan(&noted); err != nil {
			t.Fatal(err)
		}
	}
	hangUp()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("twin = %v, want that its client has gone", err)
	}
	gate.Release()
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestAnAnswerIsProvisionalUntilMakodHasAnswered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	gate := b.makod.Hold()
	done := make(chan Result)
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		result, err := b.service.Execute(ctx, keyed(idA, idA), order.ID, ExecuteReport{})
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	if err := gate.Wait(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	hangUp() // the outcome is recorded and the answer settled all the same
	provisional := column[string](t, b.pool, `SELECT convert_from(response_body, 'UTF8') FROM api_transactions WHERE state = 'provisional'`)
	if want := order.ID.String() + " executed, dispatch 2, visits 0, "; len(provisional) != 1 || provisional[0] != want {
		t.Errorf("while makod is asked the answer is %q, want %q", provisional, want)
	}
	gate.Release()
	first := <-done
	if want := order.ID.String() + " executed, dispatch 1, visits 0, "; string(first.Answered.Body) != want || b.known(t) != [3]int{1, 1, 0} {
		t.Errorf("answer %q, want %q; known are %v", first.Answered.Body, want, b.known(t))
	}
	again, err := b.service.Execute(t.Context(), keyed(idB, idA), order.ID, ExecuteReport{})
	wantReplay(t, again, err, first)
	if n := len(b.makod.Requests()); n != 1 {
		t.Errorf("%d commands", n)
	}
}

func TestATwinThatHasNotWaitedDecidesTheAnswerOfBoth(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.TwinWait = 0 })
	order := b.receive(t, pidSperrauftrag, testMalo)
	gate := b.makod.Hold()
	done := make(chan Result)
	go func() {
		result, err := b.service.Execute(t.Context(), keyed(idA, idA), order.ID, ExecuteReport{})
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	if err := gate.Wait(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	twin, err := b.service.Execute(t.Context(), keyed(idB, idA), order.ID, ExecuteReport{})
	gate.Release()
	first := <-done
	wantReplay(t, twin, err, first)
	if got := b.get(t, order.ID); got.IFTSTADispatchedAt == nil || len(b.makod.IFTSTA()) != 1 {
		t.Errorf("dispatched at %v, %d IFTSTA", got.IFTSTADispatchedAt, len(b.makod.IFTSTA()))
	}
}

func TestAnAnswerThatCannotBeSettledStandsAsItWasWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.exec(t, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`)
	b.exec(t, `CREATE TRIGGER broken BEFORE UPDATE ON api_transactions FOR EACH ROW EXECUTE FUNCTION broken()`)
	first, err := b.service.Execute(t.Context(), keyed(idA, idA), order.ID, ExecuteReport{})
	if want := order.ID.String() + " executed, dispatch 2, visits 0, "; err != nil || string(first.Answered.Body) != want {
		t.Fatalf("Execute = %+v, %v; want %q", first.Answered, err, want)
	}
	if got := b.get(t, order.ID); got.IFTSTADispatchedAt == nil || b.known(t) != [3]int{1, 1, 1} {
		t.Errorf("dispatched at %v, known are %v", got.IFTSTADispatchedAt, b.known(t))
	}
	b.exec(t, `DROP TRIGGER broken ON api_transactions`)
	b.service.TwinWait = 0
	again, err := b.service.Execute(t.Context(), keyed(idB, idA), order.ID, ExecuteReport{})
	if wantReplay(t, again, err, first); b.known(t) != [3]int{1, 2, 0} {
		t.Errorf("known are %v", b.known(t))
	}
}

func TestAttemptsAtOnceGetOneAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.TwinWait = time.Minute })
	order := b.receive(t, pidSperrauftrag, testMalo)
	const attempts = 20
	results, errs := make([]Result, attempts), make([]error, attempts)
	var race sync.WaitGroup
	for i := range attempts {
		call := keyed(uuid.NewString(), idA)
		if i == 0 {
			call = keyed(idA, idA)
		}
		race.Go(func() { results[i], errs[i] = b.service.Execute(t.Context(), call, order.ID, ExecuteReport{}) })
	}
	race.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	firsts := 0
	for _, r := range results {
		if !r.Answered.Replayed {
			firsts++
		}
		if string(r.Answered.Body) != string(results[0].Answered.Body) {
			t.Errorf("answers %q and %q", results[0].Answered.Body, r.Answered.Body)
		}
	}
	if firsts != 1 || len(b.makod.Requests()) != 1 {
		t.Errorf("%d first answers, %d commands", firsts, len(b.makod.Requests()))
	}
	if diff := cmp.Diff([]string{EventAuftragEingegangen, EventAusgefuehrt}, b.events(t, order.ID)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestARepeatedFirstVisitIsNoSecondOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	report := FailReport{Reason: "niemand da", PruefschrittCode: ptr("A08")}
	first, err := b.service.Fail(t.Context(), keyed(idA, idA), order.ID, report)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := b.service.Fail(t.Context(), keyed(uuid.NewString(), idA), order.ID, report)
		wantReplay(t, again, err, first)
	}
	if got := b.get(t, order.ID); got.Sperrversuche != 1 || got.Status != StatusPending {
		t.Errorf("%d visits, %s", got.Sperrversuche, got.Status)
	}
	second, err := b.service.Fail(t.Context(), keyed(idD, idD), order.ID, report)
	if got := b.get(t, order.ID); err != nil || second.Answered.Replayed || got.Sperrversuche != 2 || got.Status != StatusFailed {
		t.Errorf("a genuine second visit = %+v, %v; %d visits, %s", second, err, got.Sperrversuche, got.Status)
	}
}
