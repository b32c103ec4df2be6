package sperr

import (
	"encoding/base64"
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"sperrd/internal/werktag"
)

// cursor is the sort key of the last row of a page, with what the list was asked
// for: a cursor of another question is refused rather than misread.
type cursor struct {
	Due              bool          `json:"d,omitempty"`
	Status           Status        `json:"s,omitempty"`
	MaloID           string        `json:"m,omitempty"`
	Today            *werktag.Date `json:"t,omitempty"`
	Requested        dayKey        `json:"r"`
	EntsperrungFirst bool          `json:"e,omitempty"`
	CreatedAt        momentKey     `json:"c"`
	ID               uuid.UUID     `json:"i"`
}

func encodeCursor(f Filter, last listed) string {
	c := cursor{
		Due: f.Due, Status: f.Status, MaloID: f.MaloID, Requested: dayKeyOf(last.RequestedKey),
		CreatedAt: momentKeyOf(last.CreatedKey), ID: last.ID,
	}
	if f.Due {
		c.Today = &f.Today
		c.EntsperrungFirst = last.OrderType == TypeEntsperrung && c.Requested > lastDayKey
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return "" // no value of a cursor fails to marshal
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func decodeCursor(f Filter) (*cursor, error) {
	if f.Cursor == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(f.Cursor)
	if err != nil {
		return nil, ErrCursor
	}
	var c cursor
	if err := json.Unmarshal(raw, &c, json.RejectUnknownMembers(true)); err != nil {
		return nil, ErrCursor
	}
	if c.ID == uuid.Nil || c.Due != f.Due || c.Due != (c.Today != nil) || c.Status != f.Status || c.MaloID != f.MaloID {
		return nil, ErrCursor
	}
	if !c.Requested.exists() || !c.CreatedAt.exists() {
		return nil, ErrCursor
	}
	return &c, nil
}

// y2k is where PostgreSQL counts days and moments from.
var y2k = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// dayKey is a date as PostgreSQL counts it: days since y2k, the ends of the type being
// -infinity and infinity. It tells more days apart than a werktag.Date has.
type dayKey int32

// The first and the last finite date of PostgreSQL, 4713 BC and 5874897, and the last one
// of the calendar.
const (
	minDayKey  dayKey = -2_451_545
	maxDayKey  dayKey = 2_145_031_948
	lastDayKey dayKey = 2_921_939
)

func dayKeyOf(d pgtype.Date) dayKey {
	switch d.InfinityModifier {
	case pgtype.Infinity:
		return math.MaxInt32
	case pgtype.NegativeInfinity:
		return math.MinInt32
	}
	return dayKey((d.Time.Unix() - y2k.Unix()) / (24 * 60 * 60))
}

// exists reports whether PostgreSQL has such a date: a cursor may be made up.
func (k dayKey) exists() bool {
	return k == math.MaxInt32 || k == math.MinInt32 || k >= minDayKey && k <= maxDayKey
}

func (k dayKey) value() pgtype.Date {
	switch k {
	case math.MaxInt32:
		return pgtype.Date{InfinityModifier: pgtype.Infinity, Valid: true}
	case math.MinInt32:
		return pgtype.Date{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	}
	return pgtype.Date{Time: y2k.AddDate(0, 0, int(k)), Valid: true}
}

// momentKey is a timestamptz as PostgreSQL counts it: microseconds since y2k, the ends of
// the type being -infinity and infinity.
type momentKey int64

// The first and the last finite moment of PostgreSQL, in 4714 BC and in 294276.
const (
	minMomentKey momentKey = -211_813_488_000_000_000
	maxMomentKey momentKey = 9_223_371_331_199_999_999
)

func momentKeyOf(t pgtype.Timestamptz) momentKey {
	switch t.InfinityModifier {
	case pgtype.Infinity:
		return math.MaxInt64
	case pgtype.NegativeInfinity:
		return math.MinInt64
	}
	return momentKey((t.Time.Unix()-y2k.Unix())*1_000_000 + int64(t.Time.Nanosecond()/1000))
}

// exists reports whether PostgreSQL has such a moment: a cursor may be made up.
func (k momentKey) exists() bool {
	return k == math.MaxInt64 || k == math.MinInt64 || k >= minMomentKey && k <= maxMomentKey
}

func (k momentKey) value() pgtype.Timestamptz {
	switch k {
	case math.MaxInt64:
		return pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	case math.MinInt64:
		return pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	}
	const second = 1_000_000
	return pgtype.Timestamptz{Time: time.Unix(y2k.Unix()+int64(k/second), int64(k%second)*1000).UTC(), Valid: true}
}
