package sperr

import (
	"errors"
	"fmt"
	"strings"
)

// checkMaloID is nil for a MaLo-ID of the right shape (eleven ASCII digits, the
// first not 0) with the right check digit; otherwise it says what is wrong and
// which digit would fit. A wrong MaLo-ID is a wrong household.
func checkMaloID(id string) error {
	if id == "" {
		return errors.New("is required")
	}
	if !digits(id, 11) || id[0] == '0' {
		return fmt.Errorf("must be eleven digits, the first not 0")
	}
	if want := weightedCheckDigit(id[:10], 2); id[10] != want {
		return fmt.Errorf("has check digit %c, but %c would fit", id[10], want)
	}
	return nil
}

// ValidMaloShape reports whether id has the shape of a MaLo-ID, whatever its
// check digit.
func ValidMaloShape(id string) bool { return digits(id, 11) && id[0] != '0' }

// checkMPID is nil for thirteen ASCII digits.
func checkMPID(id string) error {
	if id == "" {
		return errors.New("is required")
	}
	if !digits(id, 13) {
		return fmt.Errorf("must be thirteen digits")
	}
	return nil
}

// MPIDWarning is empty for an MP-ID whose check digit fits its kind, and says
// otherwise which digit would. The prefix tells the issuer: 99 BDEW, 98 DVGW,
// anything else GS1. It is never a reason to refuse: codes in use fail it.
func MPIDWarning(id string) string {
	if checkMPID(id) != nil {
		return ""
	}
	kind, evenWeight := "GLN", 3
	switch {
	case strings.HasPrefix(id, "99"):
		kind, evenWeight = "BDEW-Codenummer", 2
	case strings.HasPrefix(id, "98"):
		kind, evenWeight = "DVGW-Codenummer", 2
	}
	if want := weightedCheckDigit(id[:12], evenWeight); id[12] != want {
		return fmt.Sprintf("%s %s has check digit %c, but %c would fit", kind, id, id[12], want)
	}
	return ""
}

// weightedCheckDigit completes the weighted sum of number to the next multiple of
// ten: digits at odd positions count once, at even positions evenWeight times.
// Products are added as they are, without cross sums.
func weightedCheckDigit(number string, evenWeight int) byte {
	sum := 0
	for i := range len(number) {
		d := int(number[i] - '0')
		if i%2 == 1 {
			d *= evenWeight
		}
		sum += d
	}
	return byte('0' + (10-sum%10)%10)
}

// digits reports whether s is exactly n ASCII digits; other scripts' digits are
// not.
func digits(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
