package sperr

import (
	"strings"
	"testing"
)

// fits computes a check digit as the tables of the market have it, by place and from the
// rune on: the first digit counts once, the second evenWeight times, and so on, and with
// the last one the sum is a multiple of ten.
func fits(id string, n, evenWeight int) bool {
	sum, places := 0, 0
	for _, r := range id {
		value := strings.IndexRune("0123456789", r)
		if places++; value < 0 {
			return false
		}
		switch {
		case places == n: // the check digit itself
			sum += value
		case places%2 == 0:
			sum += evenWeight * value
		default:
			sum += value
		}
	}
	return places == n && sum%10 == 0
}

// FuzzIDs: a MaLo-ID and an MP-ID are what the rule of their check digit says, in ASCII.
func FuzzIDs(f *testing.F) {
	for _, id := range []string{
		testMalo, otherMalo, "51238696782", "01238696781", "5123869678", "512386967811", "٥١٢٣٨٦٩٦٠١٢", "５１２３８６９６０１２", "5123869601\x00", " 51238696012", "",
		testLF, testTenant, "9900357000003", "9870011100001", "4012345000023", "4012345000024", "0000000000000", "990035700000４",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if got, want := checkMaloID(id) == nil, fits(id, 11, 2) && !strings.HasPrefix(id, "0"); got != want {
			t.Errorf("MaLo-ID %q is valid: %v, want %v", id, got, want)
		}
		if checkMaloID(id) == nil && !ValidMaloShape(id) {
			t.Errorf("MaLo-ID %q is valid and has no shape of one", id)
		}
		shape := len(id) == 13 && strings.Trim(id, "0123456789") == ""
		if got := checkMPID(id) == nil; got != shape {
			t.Errorf("MP-ID %q is valid: %v, want %v", id, got, shape)
		}
		evenWeight := 3
		if strings.HasPrefix(id, "99") || strings.HasPrefix(id, "98") {
			evenWeight = 2
		}
		if got, want := MPIDWarning(id) == "", !shape || fits(id, 13, evenWeight); got != want {
			t.Errorf("the check digit of MP-ID %q fits: %v, want %v", id, got, want)
		}
	})
}
