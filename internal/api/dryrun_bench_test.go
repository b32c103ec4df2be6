package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/api"
	"sperrd/internal/sperr"
)

// dryRun are the members of an answer to a dry run, each of which is there.
type dryRun struct {
	DryRun     bool `json:"dry_run"`
	Acceptable bool `json:"acceptable"`
	refusal
	Status               *string     `json:"status"`
	Sperrversuche        *int        `json:"sperrversuche"`
	PruefschrittCode     *string     `json:"pruefschritt_code"`
	IFTSTAGeschuldet     bool        `json:"iftsta_geschuldet"`
	IFTSTAFaelligAm      *string     `json:"iftsta_faellig_am"`
	AusfuehrungFaelligAm *string     `json:"ausfuehrung_faellig_am"`
	Command              *dryCommand `json:"command"`
	Warnungen            []string    `json:"warnungen"`
	Advice               *string     `json:"advice"`
}

// refusal is why a report is not acceptable, in a dry run and in a 422.
type refusal struct {
	Errors       []struct{ Field, Reason string } `json:"errors"`
	FittingCodes []string                         `json:"fitting_codes"`
}

type dryCommand struct {
	Name           string    `json:"name"`
	IdempotencyKey string    `json:"idempotency_key"`
	Marktrolle     string    `json:"marktrolle"`
	Payload        wireBytes `json:"payload"`
}

// wireBytes are JSON as it stands in an answer.
type wireBytes string

func (w *wireBytes) UnmarshalJSON(raw []byte) error {
	*w = wireBytes(raw)
	return nil
}

// preview asks what a report would do, and fails unless every table is the same after it,
// down to the versions and locks of its rows, and makod has heard nothing.
func (b *bench) preview(t *testing.T, id, verb, body string, header ...string) answer {
	t.Helper()
	before, commands := b.everything(t), len(b.makod.Requests())
	a := b.call(t, http.MethodPut, orders+"/"+id+"/"+verb+"?dry_run=true", body, header...)
	if diff := cmp.Diff(before, b.everything(t)); diff != "" {
		t.Errorf("a dry run has changed the database (-before +after):\n%s", diff)
	}
	if n := len(b.makod.Requests()); n != commands {
		t.Errorf("a dry run has sent %d commands", n-commands)
	}
	return a
}

// everything is the state of each table and sequence of the database.
func (b *bench) everything(t *testing.T) map[string]string {
	t.Helper()
	state := b.pairs(t, `SELECT sequencename::text, COALESCE(last_value::text, '') FROM pg_sequences WHERE schemaname = 'public'`)
	tables := b.pairs(t, `SELECT tablename::text, tablename::text FROM pg_tables WHERE schemaname = 'public'`)
	if len(state) == 0 || len(tables) < 6 {
		t.Fatalf("sequences %v, tables %v", state, tables)
	}
	for name := range tables {
		rows := b.pairs(t, fmt.Sprintf(
			`SELECT '%[1]s', md5(COALESCE(string_agg(concat_ws('|', x.ctid, x.xmin, x.xmax, x::text), chr(10) ORDER BY x.ctid), '')) FROM %[1]s AS x`, name))
		maps.Copy(state, rows)
	}
	return state
}

// pairs are the rows of a query for two texts.
func (b *bench) pairs(t *testing.T, sql string) map[string]string {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	var key, value string
	_, err = pgx.ForEachRow(rows, []any{&key, &value}, func() error {
		found[key] = value
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// newLenient is a bench that lets codes pass which it does not know.
func newLenient(t *testing.T) *bench {
	t.Helper()
	return newBench(t, func(s *settings) {
		next := s.handler
		s.handler = func(o api.Options) http.Handler {
			o.Service.PruefschrittCheck = sperr.PruefschrittWarn
			return next(o)
		}
	})
}

// payloadOf is the payload of a command as it came to makod.
func payloadOf(t *testing.T, body []byte) wireBytes {
	t.Helper()
	_, rest, found := strings.Cut(string(body), `,"payload":`)
	payload, closed := strings.CutSuffix(rest, "}")
	if !found || !closed {
		t.Fatalf("a command without a payload at its end: %s", body)
	}
	return wireBytes(payload)
}
