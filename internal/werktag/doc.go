// Package werktag knows the days of the German energy market: civil dates in
// legal German time, and which of them are Werktage (WT) of the BDEW calendar
// on which the market's Fristen are counted.
//
// A Date is a day, not an instant. Counting moves from day to day and never by
// 24 hours, so the days with 23 and 25 hours are days like any other.
//
// The package does no I/O and reads no clock, environment or zone file: the
// same arguments give the same day on every machine. What it cannot know, such
// as a holiday after LastYear, is an error and never a guess.
package werktag
