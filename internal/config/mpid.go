package config

// tenantDigits is the length of an MP-ID, the code under which a Netzbetreiber
// takes part in the market's communication.
const tenantDigits = 13

// isMPID says whether text has the shape of an MP-ID: ASCII digits alone, since
// a digit of another script would never equal a stored code.
func isMPID(text string) bool {
	if len(text) != tenantDigits {
		return false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}

	return true
}

// checkDigit returns the last digit that fits the first twelve of an MP-ID.
// Codes of BDEW (99...) and DVGW (98...) weigh the digits 1, 2, 1, 2; every
// other code is a GLN and weighs them 1, 3, 1, 3. The products are added as
// they are and the check digit completes the sum to a multiple of ten.
func checkDigit(mpID string) int {
	second := 3
	if prefix := mpID[:2]; prefix == "99" || prefix == "98" {
		second = 2
	}
	sum := 0
	for i, c := range []byte(mpID[:tenantDigits-1]) {
		digit := int(c - '0')
		if i%2 == 1 {
			digit *= second
		}
		sum += digit
	}

	return (10 - sum%10) % 10
}

// checkDigitFits says whether an MP-ID ends in its check digit.
func checkDigitFits(mpID string) bool {
	return int(mpID[tenantDigits-1]-'0') == checkDigit(mpID)
}
