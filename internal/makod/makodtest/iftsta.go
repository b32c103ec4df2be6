package makodtest

import (
	"encoding/json"
	"slices"
	"time"
)

// IFTSTA is the message 21039 that makod would send to the Lieferant for an
// accepted command, taken from the payload. Absent fields are empty.
type IFTSTA struct {
	ProcessID      string    // the process the command ran against
	MaloID         string    //
	LieferantID    string    // lf_mp_id, the addressee
	Qualifier      string    // SG15 STS DE9015: Z37 Sperren, Z38 Entsperren
	Code           string    // SG15 STS DE4405: Z14 erfolgreich, Z13 gescheitert
	Pruefschritt   string    // SG15 STS DE9013
	Fertigstellung time.Time // DTM+293, zero if absent
	Text           string    // FTX+ACB
	Key            string    // Idempotency-Key of the command
	At             time.Time // when makod recorded it
}

// IFTSTA returns the messages in the order of the accepted commands. A repeated
// answer under the same key makes no second one.
func (s *Server) IFTSTA() []IFTSTA {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.iftsta)
}

// IFTSTAFor returns the messages of one MaLo.
func (s *Server) IFTSTAFor(maloID string) []IFTSTA {
	return slices.DeleteFunc(s.IFTSTA(), func(m IFTSTA) bool { return m.MaloID != maloID })
}

// readReport reads the payload of either command, or says what is wrong with it.
//
// makod itself reads malo_id and one text. The other fields are checked only
// where a wrong value would make an inadmissible message: DTM+293 must not lie
// after the document date.
func (s *Server) readReport(c *call) (IFTSTA, string) {
	m := IFTSTA{
		MaloID:       stringMember(c.payload, "malo_id"),
		LieferantID:  stringMember(c.payload, "lf_mp_id"),
		Qualifier:    stringMember(c.payload, "auftragsstatus_qualifier"),
		Code:         stringMember(c.payload, "auftragsstatus_code"),
		Pruefschritt: stringMember(c.payload, "pruefschritt_code"),
		Key:          c.key,
		At:           s.now(),
	}
	if m.MaloID == "" {
		return m, "missing malo_id"
	}
	if !validMaloID(m.MaloID) {
		return m, "malo_id is not a valid MaLo-ID"
	}
	var ok bool
	if m.Text, ok = reportText(c.payload); !ok && c.name == fehlgeschlagen {
		return m, "missing reason"
	}
	if at := stringMember(c.payload, "fertigstellung"); at != "" {
		var err error
		if m.Fertigstellung, err = time.Parse(time.RFC3339, at); err != nil {
			return m, "fertigstellung is no RFC 3339 instant"
		}
		if m.Code == "Z14" && m.Fertigstellung.After(m.At) {
			return m, "fertigstellung lies after the document date"
		}
	}
	return m, ""
}

// reportText is reason, else note. The trap is makod's: a reason that is
// present but null counts, and the note is not looked at.
func reportText(payload map[string]json.RawMessage) (string, bool) {
	raw, ok := payload["reason"]
	if !ok {
		raw = payload["note"]
	}
	var text *string
	if json.Unmarshal(raw, &text) != nil || text == nil {
		return "", false
	}
	return *text, true
}

// stringMember returns a member that is a string, else "".
func stringMember(members map[string]json.RawMessage, name string) string {
	var s string
	if json.Unmarshal(members[name], &s) != nil {
		return ""
	}
	return s
}

// validMaloID checks shape and check digit (BDEW, MaLo-ID): the digits at odd
// places plus twice those at even places, filled up to the next ten.
func validMaloID(id string) bool {
	if len(id) != 11 {
		return false
	}
	sum := 0
	for i, r := range []byte(id) {
		if r < '0' || r > '9' {
			return false
		}
		digit := int(r - '0')
		switch {
		case i == 10:
			return digit == (10-sum%10)%10
		case i%2 == 0:
			sum += digit
		default:
			sum += 2 * digit
		}
	}
	return false
}
