package erptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	maxBody = 1 << 20 // bytes
	// tolerance is the window of Standard Webhooks, in both directions.
	tolerance = 5 * time.Minute
	// creationLayout is RFC 3339 in UTC with exactly three digits of a second.
	creationLayout = "2006-01-02T15:04:05.000Z"
)

// answer is a complete HTTP answer; problem says why it is a refusal.
type answer struct {
	status        int
	header, value string // one header line, if any
	problem       string
}

func refuse(status int, format string, args ...any) answer {
	return answer{status: status, problem: fmt.Sprintf(format, args...)}
}

func (a answer) write(w http.ResponseWriter) {
	if a.header != "" {
		w.Header().Set(a.header, a.value)
	}
	if a.problem != "" {
		http.Error(w, a.problem, a.status)
		return
	}
	w.WriteHeader(a.status)
}

// message is what has been read of one request, before it is judged.
type message struct {
	method string
	header http.Header
	body   []byte
	err    error // reading the body

	// Read leniently, for the log and for faults.
	eventID, eventType, orderID string

	event      event.Event
	eventErr   error
	unverified error // signature or window
}

// read reads the request and does all work that needs no lock.
func (s *Server) read(w http.ResponseWriter, r *http.Request) *message {
	m := &message{method: r.Method, header: r.Header.Clone()}
	m.body, m.err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var peek struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Data struct {
			OrderID string `json:"order_id"`
		} `json:"data"`
	}
	_ = json.Unmarshal(m.body, &peek) // what cannot be read stays empty
	m.eventID, m.eventType, m.orderID = peek.ID, peek.Type, peek.Data.OrderID
	m.unverified = s.signature.verify(m.body, m.header)
	if m.eventErr = json.Unmarshal(m.body, &m.event); m.eventErr == nil {
		m.eventErr = m.event.Validate()
	}
	if m.eventErr != nil {
		m.event = event.Event{}
	}
	return m
}

// judge answers as an ERP without faults does. It remembers the transactionId of
// every request, so that a repeated one is refused even if the first had no
// answer. s.mu is held.
func (s *Server) judge(m *message) answer {
	id, repeated, err := s.transaction(m.header.Get("transactionId"))
	media, _, mediaErr := mime.ParseMediaType(m.header.Get("Content-Type"))
	var tooLarge *http.MaxBytesError
	switch {
	case m.method != http.MethodPost:
		a := refuse(http.StatusMethodNotAllowed, "%s instead of POST", m.method)
		a.header, a.value = "Allow", http.MethodPost
		return a
	case mediaErr != nil || media != event.ApplicationCloudEventsJSON:
		return refuse(http.StatusUnsupportedMediaType, "content type %q", m.header.Get("Content-Type"))
	case errors.As(m.err, &tooLarge):
		return refuse(http.StatusRequestEntityTooLarge, "more than %d bytes", maxBody)
	case m.err != nil:
		return refuse(http.StatusBadRequest, "body: %v", m.err)
	case m.unverified != nil:
		return refuse(http.StatusUnauthorized, "%v", m.unverified)
	case m.eventErr != nil:
		return refuse(http.StatusBadRequest, "event: %v", m.eventErr)
	case m.header.Get(standardwebhooks.HeaderWebhookID) != m.event.ID():
		return refuse(http.StatusBadRequest, "webhook-id is not the id of the event")
	case err != nil:
		return refuse(http.StatusBadRequest, "transactionId: %v", err)
	case repeated:
		return refuse(http.StatusBadRequest, "transactionId %s came with an earlier delivery", id)
	}
	if text := m.header.Get("creationDateTime"); !isCreationDateTime(text) {
		return refuse(http.StatusBadRequest, "creationDateTime %q is not like %s", text, creationLayout)
	}
	return answer{status: http.StatusNoContent}
}

// transaction reads a transactionId and reports whether it came before.
// s.mu is held.
func (s *Server) transaction(text string) (id uuid.UUID, repeated bool, err error) {
	if len(text) != len(uuid.Nil.String()) {
		return id, false, fmt.Errorf("%q is no UUID in its usual form", text)
	}
	if id, err = uuid.Parse(text); err != nil {
		return id, false, fmt.Errorf("%q: %w", text, err)
	}
	repeated = s.transactions[id]
	s.transactions[id] = true
	return id, repeated, nil
}

// isCreationDateTime demands the round trip: parsing alone lets a comma and an
// hour of one digit pass.
func isCreationDateTime(text string) bool {
	t, err := time.Parse(creationLayout, text)
	return err == nil && t.Format(creationLayout) == text
}

// signature verifies with the stock library.
type signature struct {
	hook *standardwebhooks.Webhook
	err  error            // why the secret is unusable
	now  func() time.Time // nil: the library's own window
}

func newSignature(secret string, now func() time.Time) *signature {
	v := &signature{now: now}
	encoded, prefixed := strings.CutPrefix(secret, "whsec_")
	switch {
	case strings.TrimSpace(encoded) == "":
		v.err = errors.New("the ERP has no secret") // with an empty key everybody could sign
	case prefixed:
		v.hook, v.err = standardwebhooks.NewWebhook(secret)
	default:
		v.hook, v.err = standardwebhooks.NewWebhookRaw([]byte(secret))
	}
	return v
}

func (v *signature) verify(body []byte, header http.Header) error {
	if v.err != nil {
		return v.err
	}
	if v.now == nil {
		return v.hook.Verify(body, header)
	}
	if err := v.hook.VerifyIgnoringTimestamp(body, header); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	if err != nil {
		return fmt.Errorf("webhook-timestamp: %w", err)
	}
	if age := v.now().Sub(time.Unix(seconds, 0)); age.Abs() > tolerance {
		return fmt.Errorf("webhook-timestamp is %s off", age)
	}
	return nil
}
