package werktag

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"fmt"
	"time"
)

var (
	_ encoding.TextMarshaler   = Date{}
	_ encoding.TextUnmarshaler = (*Date)(nil)
	_ driver.Valuer            = Date{}
	_ sql.Scanner              = (*Date)(nil)
)

// MarshalText returns d as YYYY-MM-DD, and empty text for the zero Date. An
// optional date in JSON is a *Date, so that its absence is null.
func (d Date) MarshalText() ([]byte, error) {
	return []byte(d.String()), nil
}

// UnmarshalText reads what ParseDate accepts. Empty text is an error: a sender
// who has no date leaves it out, and an order must not lose its date to a blank.
func (d *Date) UnmarshalText(text []byte) error {
	parsed, err := ParseDate(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Value returns d for a PostgreSQL date parameter: midnight UTC of the day, of
// which the driver takes the day alone, or NULL for the zero Date.
func (d Date) Value() (driver.Value, error) {
	if d.IsZero() {
		return nil, nil
	}
	return d.utc(), nil
}

// Scan reads a PostgreSQL date; NULL becomes the zero Date. A time that is not
// midnight UTC is an error, since it comes from a column of instants whose day
// only BerlinDay can tell. So are infinity and days outside the years 1 to 9999.
func (d *Date) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*d = Date{}
		return nil
	case string:
		return d.UnmarshalText([]byte(v))
	case time.Time:
		parsed := dateOf(v.UTC())
		if parsed.IsZero() || !parsed.utc().Equal(v) {
			return fmt.Errorf("scan date: %s is not a day", v.Format(time.RFC3339Nano))
		}
		*d = parsed
		return nil
	default:
		return fmt.Errorf("scan date: cannot read %T", src)
	}
}
