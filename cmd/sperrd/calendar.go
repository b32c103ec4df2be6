package main

import (
	"sperrd/internal/config"
	"sperrd/internal/werktag"
)

// calendarOf is the calendar that every Frist of this service is counted on.
func calendarOf(c *config.Config) *werktag.Calendar {
	return werktag.BDEW().With(c.Frist.ExtraHolidays)
}
