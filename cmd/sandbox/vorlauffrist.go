package main

import (
	"context"
	"net/http"
	"slices"
)

const vorlauffristPath = "/api/v1/vorlauffrist"

// vorlauffristReport is how the Lieferanten kept the Vorlauffrist in a month.
type vorlauffristReport struct {
	Lieferanten []struct {
		LieferantID string      `json:"lf_mp_id"`
		Judged      int         `json:"judged"`
		Late        int         `json:"late"`
		LateOrders  []lateOrder `json:"late_orders"`
	} `json:"lieferanten"`
}

type lateOrder struct {
	ID              string `json:"id"`
	WerktageZuSpaet *int   `json:"werktage_zu_spaet"`
}

// theLateLieferantIsNamed expects the order in the report of the month in which it came,
// which can be the month before.
func (s *story) theLateLieferantIsNamed(ctx context.Context) {
	s.print("\n")
	month := s.came().String()[:len("2006-01")]
	a := s.call(ctx, http.StatusOK, http.MethodGet, vorlauffristPath+"?monat="+month, nil)
	for _, l := range read[vorlauffristReport](s, a).Lieferanten {
		i := slices.IndexFunc(l.LateOrders, func(o lateOrder) bool { return o.ID == s.earliest.ID.String() })
		if l.LieferantID != s.earliest.LieferantID || i < 0 {
			continue
		}
		late := l.LateOrders[i].WerktageZuSpaet
		s.expect(late != nil && *late == 6-tooLateWT && l.Late >= 1 && l.Judged >= l.Late,
			"%d of %d are late, this one by %v Werktage", l.Late, l.Judged, shown(late))
		s.note("the Lieferant %s: %d of %d too late, this one by %v Werktage", l.LieferantID, l.Late, l.Judged, shown(late))
		return
	}
	s.expect(false, "the report of %s does not name the Lieferant %s with the late order: %s", month, s.earliest.LieferantID, a.body)
}
