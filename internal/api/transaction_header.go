package api

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
	"sperrd/internal/transaction"
)

// errInvalidTransactionHeader is the kind of every fault of the headers below.
var errInvalidTransactionHeader = errors.New("invalid transaction header")

// The headers by which a call can be recognised when it comes again. The EDI@Energy
// APIs write the first four in this way and never with hyphens.
const (
	headerTransactionID        = "transactionId"
	headerCreationDateTime     = "creationDateTime"
	headerInitialTransactionID = "initialTransactionId"
	headerReferenceID          = "referenceId"
	headerIdempotencyKey       = "Idempotency-Key"
)

const uuidLength = 36 // characters

// identifiers are what the header of a request says about the operation it belongs to.
// The zero value says nothing.
type identifiers struct {
	id, initial string    // a UUID in lower case, or transaction.KeyPrefix and an Idempotency-Key
	createdAt   time.Time // zero with an Idempotency-Key alone
	reference   string    // a UUID in lower case, or empty
}

// given reports whether the request can be recognised when it comes again.
func (i identifiers) given() bool { return i.id != "" }

// echo tells the caller of h which call is answered: this one, and the first of its
// operation.
func (i identifiers) echo(h http.Header) {
	setEcho(h, transaction.Shown(i.id), transaction.Shown(i.initial))
}

// setEcho replaces the headers of an answer that say which call it belongs to; an
// empty one goes away. Their spelling is the literal one, so that h.Get finds neither.
func setEcho(h http.Header, id, reference string) {
	for name, value := range map[string]string{headerTransactionID: id, headerReferenceID: reference} {
		h.Del(name)
		delete(h, name)
		if value != "" {
			h[name] = []string{value}
		}
	}
}

// echoed is what a refused header still says: those of its ids that are one
// well-formed UUID.
func echoed(h http.Header) identifiers {
	r := newHeaderReader(h)
	i := identifiers{id: r.uuid(headerTransactionID), initial: r.uuid(headerInitialTransactionID)}
	if !r.has(headerInitialTransactionID) {
		i.initial = i.id
	}
	return i
}

// readIdentifiers reads the headers of a call that comes in at now. A creationDateTime
// may be retention old, since nobody remembers longer whether that call has run. A
// fault names every header that is one; without any of the headers there is nothing
// and no fault.
func readIdentifiers(h http.Header, now time.Time, retention time.Duration) (identifiers, error) {
	r := newHeaderReader(h)
	i := identifiers{
		id:        r.uuid(headerTransactionID),
		initial:   r.uuid(headerInitialTransactionID),
		reference: r.uuid(headerReferenceID),
		createdAt: r.instant(headerCreationDateTime, now, retention),
	}
	key := r.key(headerIdempotencyKey)
	if r.has(headerTransactionID) {
		r.checkBeside(i, key)
	} else {
		r.checkAlone()
		i.id, i.initial = key, key
	}
	if len(r.faults) > 0 {
		return identifiers{}, &fault{kind: errInvalidTransactionHeader, detail: sentence(r.faults), fields: r.faults}
	}
	if i.initial == "" {
		i.initial = i.id
	}
	return i, nil
}

// checkTrailer refuses headers that are announced to come behind the body, when nobody
// reads them any more. Those that come there unannounced are as good as not sent.
func checkTrailer(trailer http.Header) error {
	for _, name := range []string{
		headerTransactionID, headerCreationDateTime, headerInitialTransactionID, headerReferenceID, headerIdempotencyKey,
	} {
		if _, announced := trailer[http.CanonicalHeaderKey(name)]; announced {
			return fieldFault(errInvalidTransactionHeader, name, "must stand before the body, not in a trailer")
		}
	}
	return nil
}

// headerReader reads the headers one by one and gathers what is wrong with them.
type headerReader struct {
	lines  map[string][]string // by canonical name
	faults []sperr.FieldError
}

// newHeaderReader looks at names in any letter case, for a map that was not filled by
// net/http may have several.
func newHeaderReader(h http.Header) *headerReader {
	r := &headerReader{lines: map[string][]string{}}
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		r.lines[name] = append(r.lines[name], values...)
	}
	return r
}

func (r *headerReader) has(name string) bool {
	return len(r.lines[http.CanonicalHeaderKey(name)]) > 0
}

func (r *headerReader) refuse(name, reason string) {
	r.faults = append(r.faults, sperr.FieldError{Field: name, Reason: reason})
}

// one is the value of the header called name; false where it is absent or refused.
// One that is empty was meant to say something, and so is not absent.
func (r *headerReader) one(name string) (string, bool) {
	lines := r.lines[http.CanonicalHeaderKey(name)]
	switch {
	case len(lines) == 0:
		return "", false
	case len(lines) > 1:
		r.refuse(name, "is given more than once")
		return "", false
	case strings.TrimSpace(lines[0]) == "":
		r.refuse(name, "is empty")
		return "", false
	}
	return lines[0], true
}

// uuid is the UUID in the header called name, in lower case; empty where there is none.
func (r *headerReader) uuid(name string) string {
	text, ok := r.one(name)
	if !ok {
		return ""
	}
	id, ok := parseUUID(text)
	switch {
	case !ok:
		r.refuse(name, "must be one UUID of 36 characters")
	case id == uuid.Nil:
		r.refuse(name, "must not be the nil UUID")
	default:
		return id.String()
	}
	return ""
}

// parseUUID reads the form with four hyphens alone, of any version: the example of the
// EDI@Energy APIs has version 1.
func parseUUID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && len(text) == uuidLength
}

// instantForm is the pattern of the EDI@Energy APIs with more digits of the second: a
// report from the field must not fail over its precision. Days of a month are not its
// business.
var instantForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?Z$`)

// instant is the instant in the header called name, in UTC.
func (r *headerReader) instant(name string, now time.Time, retention time.Duration) time.Time {
	text, ok := r.one(name)
	if !ok {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case err != nil || !instantForm.MatchString(text):
		r.refuse(name, "must be an instant in UTC that ends in Z, such as 2026-09-07T08:30:00.000Z; an offset is not taken")
	case at.After(now.Add(transaction.FutureSkew)):
		r.refuse(name, fmt.Sprintf("lies more than %d minutes ahead of the clock of this service (Date of the answer)", transaction.FutureSkew/time.Minute))
	case at.Before(now.Add(-retention)):
		r.refuse(name, fmt.Sprintf("is older than the %s for which calls are remembered; it is the time of this call, not of the first one", inDays(retention)))
	default:
		return at.UTC()
	}
	return time.Time{}
}

// inDays writes a retention as people count it.
func inDays(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	return fmt.Sprintf("%d hours", d/time.Hour)
}

// checkBeside checks what stands beside a transactionId. An Idempotency-Key is the
// operation under another name, or it contradicts.
func (r *headerReader) checkBeside(i identifiers, key string) {
	if !r.has(headerCreationDateTime) {
		r.refuse(headerCreationDateTime, "is missing: it goes with "+headerTransactionID)
	}
	logical := i.initial
	if !r.has(headerInitialTransactionID) {
		logical = i.id
	}
	if key != "" && logical != "" && key != logical {
		r.refuse(headerIdempotencyKey, "must be the id of the operation where "+headerTransactionID+" is given: "+
			headerInitialTransactionID+", or without it "+headerTransactionID)
	}
}

// checkAlone checks that nothing stands there which a transactionId alone explains.
func (r *headerReader) checkAlone() {
	for _, name := range []string{headerInitialTransactionID, headerCreationDateTime, headerReferenceID} {
		if r.has(name) {
			r.refuse(name, "needs "+headerTransactionID+" beside it")
		}
	}
}
