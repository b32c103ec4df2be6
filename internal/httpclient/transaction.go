package httpclient

import (
	"net/http"
	"time"
)

// creationLayout is RFC 3339 in UTC with exactly three digits of a second. The market's
// pattern takes one to four digits and nothing but a Z, so time.RFC3339Nano is no choice.
const creationLayout = "2006-01-02T15:04:05.000Z"

// SetTransaction writes what names one call to another party of the market: id, a UUID
// that no other call has, and when the call was made, cut to milliseconds. The names are
// transactionId and creationDateTime to the letter, since a peer may compare them that
// way; for this reason Get and Set of the header do not find them.
func SetTransaction(header http.Header, id string, at time.Time) {
	header["transactionId"] = []string{id}
	header["creationDateTime"] = []string{at.UTC().Format(creationLayout)}
}
