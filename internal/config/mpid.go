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
