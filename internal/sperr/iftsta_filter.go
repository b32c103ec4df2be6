package sperr

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/werktag"
)

// IFTSTAFilter chooses among the outcomes that makod does not have; empty members choose
// nothing away.
type IFTSTAFilter struct {
	Stuck       bool          // only those whose attempts are spent
	Code        string        // of makod's last answer, whole or the part before a colon
	LieferantID string        // MP-ID
	MaloID      string        //
	OrderType   Type          //
	FaelligBis  *werktag.Date // whose Frist ends on this day or earlier
}

// Empty reports whether f chooses all of them.
func (f IFTSTAFilter) Empty() bool { return f == IFTSTAFilter{} }

// maxCode is longer than any code of makod or of a client.
const maxCode = 200

// Check is a *ValidationError for a filter that can choose nothing, since it is mistyped.
func (f IFTSTAFilter) Check() error {
	invalid := &ValidationError{Subject: SubjectReport}
	if f.MaloID != "" && !ValidMaloShape(f.MaloID) {
		invalid.add("malo_id", "must be eleven digits, the first not 0")
	}
	if f.LieferantID != "" && !ValidMPIDShape(f.LieferantID) {
		invalid.add("lf_mp_id", "must be 13 digits")
	}
	if f.OrderType != "" && !f.OrderType.Valid() {
		invalid.add("order_type", "must be sperrung or entsperrung")
	}
	checkText(invalid, "code", f.Code, maxCode)
	return invalid.err()
}

// where is the condition beside outstanding, and args its parameters.
func (f IFTSTAFilter) where(maxAttempts int) (condition string, args pgx.NamedArgs) {
	args = pgx.NamedArgs{
		"max_attempts": maxAttempts, "code": f.Code, "lf_mp_id": f.LieferantID, "malo_id": f.MaloID, "order_type": f.OrderType, "faellig_bis": f.FaelligBis,
	}
	conditions := []string{outstanding}
	for _, c := range []struct {
		given bool
		sql   string
	}{
		{f.Stuck, spent},
		{f.Code != "", `(iftsta_last_code = @code OR split_part(iftsta_last_code, ':', 1) = @code)`},
		{f.LieferantID != "", `lf_mp_id = @lf_mp_id`},
		{f.MaloID != "", `malo_id = @malo_id`},
		{f.OrderType != "", `order_type = @order_type`},
		{f.FaelligBis != nil, `iftsta_faellig_am <= @faellig_bis::date`},
	} {
		if c.given {
			conditions = append(conditions, c.sql)
		}
	}
	return strings.Join(conditions, " AND "), args
}
