package sperr

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// Of many orders the newest are named on each side, and the rest is counted.
func TestOfManyPendingOrdersAFewAreNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.ordered(t, TypeSperrung)
	var last uuid.UUID
	for range 20 {
		last = b.ordered(t, TypeSperrung)
	}
	named := func(w string) bool { return strings.HasPrefix(w, "another sperrung") }
	for _, id := range []uuid.UUID{first, last} {
		const rest = "and 15 more of type sperrung are pending for this Marktlokation"
		got := b.about(t, id)
		if len(got) != 6 || got[5] != rest || id == first && !strings.HasSuffix(got[0], last.String()) || len(slices.DeleteFunc(got, named)) != 1 {
			t.Errorf("warnings %q; want the newest five named and %q", got, rest)
		}
	}
	if got := b.metBy(t, first); len(got) != 20 || got[19] != last.String() {
		t.Errorf("%d lines in the history of the first, want one for each of 20 orders", len(got))
	}
	entsperrung := b.ordered(t, TypeEntsperrung)
	for _, id := range []uuid.UUID{first, last} {
		if got := b.about(t, id); len(got) != 7 || !strings.Contains(got[6], "pending beside this sperrung: order "+entsperrung.String()) {
			t.Errorf("warnings %q; want the Entsperrung named beside any number of Sperrungen", got)
		}
	}
	if n := column[int](t, b.pool, `SELECT max(cardinality(warnungen)) FROM sperr_orders`)[0]; n > 10 {
		t.Errorf("%d warnings on an order", n)
	}
}

func TestAThousandPendingOrdersDoNotMakeIntakeWriteAThousandRows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type) SELECT $1, $2, $3, 'sperrung' FROM generate_series(1, 1000)`,
		testTenant, testMalo, testLF)
	newer := b.ordered(t, TypeEntsperrung)
	if got := b.about(t, newer); len(got) != 6 || got[5] != "and 995 more of type sperrung are pending for this Marktlokation" {
		t.Errorf("warnings %q", got)
	}
	if n := column[int](t, b.pool, `SELECT count(*)::int FROM sperr_orders WHERE warnungen <> '{}' AND id <> $1`, newer)[0]; n != maxWarned {
		t.Errorf("%d orders written to, want %d", n, maxWarned)
	}
}

// Orders that came and went must not hide the one that contradicts.
func TestAnOrderBesideManyThatAreClosedByNowIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	entsperrung := b.ordered(t, TypeEntsperrung)
	other := b.get(t, entsperrung).Warnungen
	var came []string
	for range 6 {
		gone := b.ordered(t, TypeSperrung)
		if _, err := b.service.Cancel(t.Context(), Call{Actor: "operator"}, gone, ""); err != nil {
			t.Fatal(err)
		}
		came = append(came, gone.String())
	}
	conflict := b.ordered(t, TypeSperrung)
	want := append(other, fmt.Sprintf("a sperrung for this Marktlokation is pending beside this entsperrung: order %s; clear which of the two holds before anybody goes", conflict))
	if diff := cmp.Diff(want, b.get(t, entsperrung).Warnungen); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(append(came, conflict.String()), b.metBy(t, entsperrung)); diff != "" {
		t.Errorf("orders in the history (-want +got):\n%s", diff)
	}
}

// The count follows the orders down as well, and the warnings about the other type stay.
func TestTheRestIsCountedAnewWithEachOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, entsperrung := b.ordered(t, TypeSperrung), b.ordered(t, TypeEntsperrung)
	var others []uuid.UUID
	for range 8 {
		others = append(others, b.ordered(t, TypeSperrung))
	}
	for _, id := range others[:4] {
		if _, err := b.service.Cancel(t.Context(), Call{Actor: "operator"}, id, ""); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"an entsperrung for this Marktlokation is pending beside this sperrung: order " + entsperrung.String() + "; clear which of the two holds before anybody goes"}
	for _, id := range append(others[4:], b.ordered(t, TypeSperrung)) {
		want = append(want, "another sperrung for this Marktlokation is pending: order "+id.String())
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(b.about(t, first)))); diff != "" {
		t.Errorf("the first (-want +got):\n%s", diff)
	}
	if got := b.about(t, entsperrung); len(got) != 6 || got[5] != "and 1 more of type sperrung are pending for this Marktlokation" {
		t.Errorf("warnings %q of the Entsperrung, want six Sperrungen", got)
	}
}
