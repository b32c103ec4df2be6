package werktag

import (
	"fmt"
	"strings"
	"time"
)

var wochentage = [...]string{"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"}

// Wochentag returns the German name of the weekday of d, and the empty string for
// the zero Date.
func (d Date) Wochentag() string {
	if d.IsZero() {
		return ""
	}
	return wochentage[d.Weekday()]
}

// Reason says in German why d is no Werktag, and is empty if d is one: "Samstag",
// "Buß- und Bettag (SN)", "Heiligabend (Marktregel)". A holiday on a weekend is
// named after it: "Samstag; Tag der Deutschen Einheit (alle Länder)". Of a day
// outside the calendar nobody knows whether it is one, and Reason says that.
func (c *Calendar) Reason(d Date) string {
	if _, err := c.index(d); err != nil {
		return fmt.Sprintf("außerhalb des Kalenders %d bis %d", FirstYear, LastYear)
	}
	var reasons []string
	if day := d.Weekday(); day == time.Saturday || day == time.Sunday {
		reasons = append(reasons, d.Wochentag())
	}
	if h, ok := c.holidays[d]; ok {
		reasons = append(reasons, h.reason())
	}
	return strings.Join(reasons, "; ")
}

// reason names the holiday and on what it rests. The name of a single day says
// that itself, in brackets at its end.
func (h holiday) reason() string {
	if strings.HasSuffix(h.name, ")") {
		return h.name
	}
	return h.name + " (" + h.basis + ")"
}
