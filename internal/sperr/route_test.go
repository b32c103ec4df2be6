package sperr

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// Each entry is where somebody goes after the one before it.
func TestRoute_goes_from_neighbour_to_neighbour(t *testing.T) {
	t.Parallel()
	type place struct{ PLZ, Strasse, Ort string }
	want := []place{
		{"", "", ""},
		{" ", "Ahornweg 1", "Berlin"},
		{"01067", "", "Dresden"},
		{"01067", "1. Querweg 3", "Dresden"},
		{"01067", "Ahornweg 2", "Dresden"},
		{"01067", "Ahornweg 2 a", "Dresden"},
		{"01067", "AHORNWEG 2b", "Dresden"},
		{"01067", "Ahornweg 9", "Dresden"},
		{"01067", "ahornweg 010", "Dresden"},
		{"01067", "Ahornweg 10-12", "Dresden"},
		{"01067", "Ahornweg 99999999999999999999999", "Dresden"},
		{"01067", "Ährengasse 1", "Dresden"},
		{"01067", "Am Markt 3", "Dresden"},
		{"01067", "Am Marktplatz 1", "Dresden"},
		{"01067", "Hauptstr. 5", "Dresden"},
		{"01067", "Hauptstraße 6", "Altdorf"},
		{"01067", "Hauptstrasse 6", "Dresden"},
		{"01067", "HAUPTSTRAẞE 7", "Dresden"},
		{"01067", "Hauptstr.8", "Dresden"},
		{"01067", "Oberweg 1", "Dresden"},
		{"01067", "Öchsleweg 1", "Dresden"},
		{"01067", "O\u0308denweg 1", "Dresden"},
		{"01067", "Opernweg 1", "Dresden"},
		{"10115", "Ahornweg 1", "Berlin"},
		{"1067", "Ahornweg 1", "Dresden"},
		{"9", "Ahornweg 1", "Berlin"},
		{"L-1234", "Rue 1", "Luxembourg"},
	}
	for range 20 {
		orders := make([]*Order, len(want))
		for i, n := range rand.Perm(len(want)) {
			p := want[n]
			orders[i] = &Order{ID: uuid.New()}
			orders[i].setTreffpunkt(Treffpunkt{PLZ: p.PLZ, Strasse: p.Strasse, Ort: p.Ort})
		}
		sortForRoute(orders)
		got := make([]place, len(orders))
		for i, o := range orders {
			treffpunkt := o.treffpunkt()
			got[i] = place{treffpunkt.PLZ, treffpunkt.Strasse, treffpunkt.Ort}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestRoute_is_the_same_each_time(t *testing.T) {
	t.Parallel()
	var orders []*Order
	for range 30 {
		o := &Order{ID: uuid.New()}
		o.setTreffpunkt(Treffpunkt{PLZ: "01067", Ort: "Dresden", Strasse: "Ahornweg 1"})
		orders = append(orders, o)
	}
	sortForRoute(orders)
	again := slices.Clone(orders)
	slices.Reverse(again)
	sortForRoute(again)
	if !slices.Equal(orders, again) {
		t.Error("orders of one address change their places")
	}
}

func TestRoute_is_whole_or_none(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	f := Filter{Due: true, Today: day("2026-09-03"), Limit: 3}
	for n := range 4 {
		orders, whole, err := b.repo.Route(t.Context(), f)
		if err != nil || !whole || len(orders) != n {
			t.Fatalf("%d of %d orders, whole %t, %v", len(orders), n, whole, err)
		}
		if _, err := b.service.Create(t.Context(), Call{Actor: "test"}, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "entsperrung"}); err != nil {
			t.Fatal(err)
		}
	}
	if orders, whole, err := b.repo.Route(t.Context(), f); err != nil || whole || orders != nil {
		t.Errorf("%d of 4 orders where 3 have room, whole %t, %v", len(orders), whole, err)
	}
}
