package sperr

import "sperrd/internal/werktag"

// day is a literal day of a test.
func day(s string) werktag.Date {
	d, err := werktag.ParseDate(s)
	if err != nil {
		panic(err)
	}
	return d
}
