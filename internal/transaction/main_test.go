package transaction

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

const (
	testTenant    = "9900357000004"
	otherTenant   = "9900357000011"
	testRetention = 90 * 24 * time.Hour

	idA = "aaaaaaaa-0000-4000-8000-000000000001"
	idB = "bbbbbbbb-0000-4000-8000-000000000002"
	idC = "cccccccc-0000-4000-8000-000000000003"
	idD = "dddddddd-0000-4000-8000-000000000004"
)

var testNow = time.Date(2026, 9, 3, 8, 0, 0, 0, time.UTC)

// bench is a store on a database of its own.
type bench struct {
	*Store
	pool *pgxpool.Pool
	done int // how often an operation was done
}

func newBench(t *testing.T) *bench {
	t.Helper()
	pool := postgrestest.New(t)
	return &bench{Store: NewStore(pool, testTenant, testRetention), pool: pool}
}

// attempt is the call id of the operation that began with initial.
func attempt(id, initial string) Attempt {
	return Attempt{
		ID: id, Initial: initial, CreatedAt: testNow.Add(-time.Second), Principal: "https://idp anna",
		Operation: "PUT /x", Fingerprint: Fingerprint{1},
	}
}

func answerOf(text string) Answer {
	return Answer{Status: 200, Header: map[string]string{"Content-Type": "text/plain"}, Body: []byte(text)}
}

// do does the operation of a, which nobody has done, and keeps e.
func (b *bench) do(t *testing.T, a Attempt, e Entry) {
	t.Helper()
	if err := b.tryDo(t.Context(), a, e); err != nil {
		t.Fatal(err)
	}
}

var errNotClaimed = errors.New("somebody else has the operation")

func (b *bench) tryDo(ctx context.Context, a Attempt, e Entry) error {
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		ok, err := b.Claim(ctx, tx, a, e.At)
		if err != nil {
			return err
		}
		if !ok {
			return errNotClaimed
		}
		return b.Keep(ctx, tx, a, e)
	})
}

// serve treats a as a service does: what is known is answered, anything else is done.
func (b *bench) serve(t *testing.T, a Attempt) (logicalID string, err error) {
	t.Helper()
	r, found, err := b.Find(t.Context(), a, testNow)
	if err != nil || found {
		return r.LogicalID, err
	}
	b.do(t, a, Entry{Answer: answerOf(a.ID), At: testNow})
	b.done++
	return a.Initial, nil
}

// find fails unless the operation of a is known.
func (b *bench) find(t *testing.T, a Attempt) Record {
	t.Helper()
	r, found, err := b.Find(t.Context(), a, testNow)
	if err != nil || !found {
		t.Fatalf("Find(%s, %s) = %v, %v", a.ID, a.Initial, found, err)
	}
	return r
}

func (b *bench) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func ask[T any](t *testing.T, b *bench, sql string, args ...any) (v T) {
	t.Helper()
	if err := b.pool.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// begin opens a transaction that is rolled back at the end of the test at the latest.
func (b *bench) begin(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // committed: nothing to do
	return tx
}

// wantConflict fails unless err is a conflict for a reason.
func wantConflict(t *testing.T, err error, want Reason) {
	t.Helper()
	conflict, ok := errors.AsType[*ConflictError](err)
	if !ok || conflict.Reason != want {
		t.Errorf("error = %v, want a conflict with %s", err, want)
	}
}

func sameAnswer(a, b Answer) bool {
	if a.Status != b.Status || len(a.Header) != len(b.Header) || !bytes.Equal(a.Body, b.Body) {
		return false
	}
	for name, value := range a.Header {
		if b.Header[name] != value {
			return false
		}
	}
	return true
}
