package sperr

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// marketData is the data of an event, member by member, so that one member of a
// wrong type does not make the others unreadable. Unknown members are tolerated.
type marketData map[string]jsontext.Value

func readMarketData(raw []byte) (marketData, error) {
	var data marketData
	if err := json.Unmarshal(raw, &data); err != nil || data == nil {
		return nil, fmt.Errorf("is no JSON object")
	}
	return data, nil
}

// scalar is a member's text: the string itself, or what another JSON value looks
// like, so that a number where a string belongs is reported as it stands. Null and
// the empty string equal absent.
func (d marketData) scalar(name string) (string, bool) {
	raw, ok := d[name]
	if !ok || raw.Kind() == 'n' {
		return "", false
	}
	if raw.Kind() != '"' {
		return string(raw), true
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return string(raw), true
	}
	return s, s != ""
}

// text is scalar for members whose absence needs no telling apart.
func (d marketData) text(name string) string {
	s, _ := d.scalar(name)
	return s
}

// isNoText reports whether a member is given and is neither a string nor a number.
func (d marketData) isNoText(name string) bool {
	switch d[name].Kind() {
	case '{', '[', 't', 'f':
		return true
	}
	return false
}

// pid is data.pid, a number or a string of digits; 0 where there is none.
func (d marketData) pid() (int, error) {
	s, ok := d.scalar("pid")
	if !ok {
		return 0, nil
	}
	return parsePID(s)
}

// treffpunkt is SG2 NAD+Z24. What cannot be read of it is left out, with a warning.
func (d marketData) treffpunkt() (t Treffpunkt, warnings []string) {
	raw, ok := d["treffpunkt"]
	if !ok || raw.Kind() == 'n' {
		return Treffpunkt{}, nil
	}
	parts, err := readMarketData(raw)
	if err != nil {
		return Treffpunkt{}, []string{"treffpunkt " + err.Error() + " and was ignored"}
	}
	for _, part := range t.parts() {
		if parts.isNoText(part.name) {
			warnings = append(warnings, "treffpunkt."+part.name+" is no text and was ignored")
			continue
		}
		*part.value = parts.text(part.name)
		if part.name == "plz" && parts[part.name].Kind() == '0' {
			warnings = append(warnings, "treffpunkt.plz is a number and no text, so that a leading 0 may be missing")
		}
	}
	return t, warnings
}

// canonicalProcess lower-cases a UUID, so that one process has one spelling; any
// other id is kept as it stands.
func canonicalProcess(subject string) string {
	if len(subject) == 36 {
		if id, err := uuid.Parse(subject); err == nil {
			return id.String()
		}
	}
	return subject
}

// marktdaten are the market fields of o as they arrived, normalised: what a later
// delivery of the same process is compared with. Absent fields are left out.
func marktdaten(o Order) map[string]string {
	fields := map[string]string{
		"order_type": string(o.OrderType), "malo_id": o.MaloID, "lf_mp_id": o.LieferantID,
		"hinweis": text(o.Hinweis),
	}
	if o.AusfuehrungAm != nil {
		fields["ausfuehrung_am"] = o.AusfuehrungAm.String()
	}
	if o.AusfuehrungZeitpunkt != nil {
		fields["ausfuehrung_zeitpunkt"] = o.AusfuehrungZeitpunkt.Format(time.RFC3339Nano)
	}
	if o.FruehestensAm != nil {
		fields["fruehestens_am"] = o.FruehestensAm.String()
	}
	if o.Arbeitszeit != nil {
		fields["arbeitszeit"] = string(*o.Arbeitszeit)
	}
	treffpunkt := o.treffpunkt()
	for _, part := range treffpunkt.parts() {
		fields["treffpunkt."+part.name] = *part.value
	}
	for name, value := range fields {
		if value == "" {
			delete(fields, name)
		}
	}
	return fields
}

// asReceived are the market fields an order arrived with. An order put in by SQL may
// have none: its columns speak for it.
func (o Order) asReceived() map[string]string {
	if o.Marktdaten != nil {
		return o.Marktdaten
	}
	fields := marktdaten(o)
	if o.RedactedAt != nil { // its texts say nothing
		maps.DeleteFunc(fields, func(_, value string) bool { return value == Redacted })
	}
	return fields
}

// contradictions names the fields that stored and received both have and that say
// something different, sorted. A field absent on either side never contradicts.
func contradictions(stored, received map[string]string) []string {
	var names []string
	for name, value := range received {
		if was, ok := stored[name]; ok && was != value {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
