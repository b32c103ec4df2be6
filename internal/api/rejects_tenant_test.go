package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// tenanted is a service of another tenant on the same database.
func (b *bench) tenanted(t *testing.T, tenant string) *bench {
	t.Helper()
	return newBench(t, func(s *settings) { s.pool, s.options.Tenant = b.pool, tenant })
}

func TestReplay_knows_the_deliveries_of_its_tenant_alone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.tenanted(t, "9900000000001")
	kept := b.refused(t, sample(t, "17117.json"))
	for _, a := range []answer{
		other.replay(t, kept, ""), other.dismiss(t, kept, `{"reason":"x"}`), other.get(t, rejects+"/"+kept),
		b.replay(t, uuid.NewString(), ""), b.dismiss(t, "x", `{"reason":"x"}`), b.replay(t, "urn:uuid:"+kept, ""),
	} {
		wantProblem(t, a, http.StatusNotFound, "not_found")
	}
	if n, own := len(other.rejects(t, "?status=all")), other.statOf(t, "webhook_rejects_offen"); n != 0 || own != 0 {
		t.Errorf("the other tenant sees %d, counts %d", n, own)
	}
	if b.reject(t, kept).Settlement != nil {
		t.Error("another tenant has settled it")
	}
	wantQueued(t, b.replay(t, kept, ""))
	if n := len(decode[[]order](t, other.get(t, orders), http.StatusOK)); n != 0 {
		t.Errorf("the other tenant has %d orders", n)
	}
}

// statementAfterWrongTenant is that of the runbook.
func statementAfterWrongTenant(t *testing.T, wrong string) string {
	t.Helper()
	_, chapter, _ := strings.Cut(runbookOfRejects(t), "\n### After a wrong tenant\n")
	_, rest, _ := strings.Cut(chapter, "```sql\n")
	statement, _, found := strings.Cut(rest, "```")
	if !found || !strings.Contains(statement, tenant) {
		t.Fatalf("the runbook has no statement for %s: %s", tenant, statement)
	}
	return strings.ReplaceAll(statement, "…the wrong one…", wrong)
}

// A deployment that was set up with a wrong tenant refuses everything as not for it, and
// keeps it under that name.
func TestReplay_works_after_the_tenant_is_corrected(t *testing.T) {
	t.Parallel()
	const other = "9900000000001"
	b := newBench(t)
	wrong := b.tenanted(t, other)
	event := sample(t, "17115-fixed-date.json")
	kept := wrong.refusedWith(t, http.StatusUnprocessableEntity, event)
	wantProblem(t, wrong.replay(t, kept, ""), http.StatusUnprocessableEntity, "unusable_event", "receiver")
	// One delivery that both have refused stays where it is and keeps no other from moving.
	wantStatus(t, wrong.deliverAs(t, "w-1", []byte("{")), http.StatusBadRequest)
	wantStatus(t, b.deliverAs(t, "w-1", []byte("{")), http.StatusBadRequest)
	b.bySQL(t, statementAfterWrongTenant(t, other))
	if o := b.order(t, wantQueued(t, b.replay(t, kept, ""))); o.Tenant != tenant {
		t.Errorf("order of tenant %s", o.Tenant)
	}
	if own, left := len(b.rejects(t, "")), len(wrong.rejects(t, "")); own != 1 || left != 1 {
		t.Errorf("%d open here, %d left there; want the one delivery on both sides", own, left)
	}
}
