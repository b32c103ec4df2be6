package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// format is how the list of orders is written.
type format string

const (
	formatJSON format = "json"
	formatCSV  format = "csv"
)

const csvType = "text/csv; charset=utf-8; header=present"

var errNoFormat = &fault{
	kind:   errNotAcceptable,
	detail: "The list comes as application/json and, with due=true, as text/csv in UTF-8 with a header row.",
}

// acceptedFormat is the format that a caller prefers (RFC 9110, 12.5.1). JSON is what he
// gets who says nothing of it, nothing readable, or likes both alike; where he likes
// anything, what he names counts more. csv tells that there is CSV here.
func acceptedFormat(h http.Header, csv bool) (format, error) {
	ranges := readAccept(h)
	if len(ranges) == 0 {
		return formatJSON, nil
	}
	asJSON, asCSV := rate(ranges, mediaRange.coversJSON), rating{}
	if csv {
		asCSV = rate(ranges, mediaRange.coversCSV)
	}
	switch {
	case asJSON.q == 0 && asCSV.q == 0:
		return "", errNoFormat
	case asCSV.q > asJSON.q, asCSV.q == asJSON.q && asCSV.named > asJSON.named:
		return formatCSV, nil
	}
	return formatJSON, nil
}

// mediaRange is one entry of an Accept header.
type mediaRange struct {
	media      string
	parameters map[string]string
	q          float64
}

// readAccept reads what can be read: a header that some library has sent for years must
// not become a refusal.
func readAccept(h http.Header) []mediaRange {
	var ranges []mediaRange
	for entry := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		media, parameters, err := mime.ParseMediaType(entry)
		if err != nil {
			continue
		}
		m := mediaRange{media: media, parameters: parameters, q: 1}
		if media == "*" { // as java.net has it
			m.media = "*/*"
		}
		if text, given := parameters["q"]; given {
			if m.q, err = strconv.ParseFloat(text, 64); err != nil || !(m.q >= 0 && m.q <= 1) {
				continue
			}
		}
		ranges = append(ranges, m)
	}
	return ranges
}

// How closely a range names a format.
const (
	notCovered = iota
	anything
	anyOfType
	byName
)

func (m mediaRange) coversJSON() int { return m.covers("application", "json") }

// coversCSV takes the parameters of text/csv for what they ask for (RFC 7111).
func (m mediaRange) coversCSV() int {
	charset, given := m.parameters["charset"]
	if given && !isUTF8(charset) || strings.EqualFold(m.parameters["header"], "absent") {
		return notCovered
	}
	return m.covers("text", "csv")
}

func (m mediaRange) covers(kind, subtype string) int {
	switch m.media {
	case kind + "/" + subtype:
		return byName
	case kind + "/*":
		return anyOfType
	case "*/*":
		return anything
	}
	return notCovered
}

// rating is how much a caller likes a format, by the range that names it most closely.
type rating struct {
	named int
	q     float64
}

func rate(ranges []mediaRange, covers func(mediaRange) int) (best rating) {
	for _, m := range ranges {
		named := covers(m)
		if named > best.named || named == best.named && named != notCovered && m.q > best.q {
			best = rating{named, m.q}
		}
	}
	return best
}
