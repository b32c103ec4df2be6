package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
)

const ordersPath = "/api/v1/sperr-orders"

const resetsPath = ordersPath + "/iftsta/reset"

// client is an outside consumer of sperrd's REST interface: it shares no code with
// the service, so that a mistake there shows here.
type client struct {
	base   string
	http   *http.Client
	tokens *tokens // of who asks; nil for nobody
}

func newClient(base string) *client {
	return &client{base: base, http: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}}
}

// as is the same client with the tokens of somebody else.
func (c *client) as(tokens *tokens) *client {
	return &client{base: c.base, http: c.http, tokens: tokens}
}

// close ends its idle connections.
func (c *client) close() error {
	c.http.CloseIdleConnections()
	return nil
}

// answer is one HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// request is what a person asks for.
type request struct {
	method, path string
	body         any         // as JSON; nil: none
	ids          identifiers // by which it is recognised when it comes again
}

// do sends one request with a token of who asks.
func (c *client) do(ctx context.Context, r request) (answer, error) {
	return c.doAccepting(ctx, "", r)
}

// doAccepting is do for who wants the answer in a media type; empty: in whatever comes.
func (c *client) doAccepting(ctx context.Context, media string, r request) (answer, error) {
	header := r.ids.header(time.Now())
	if media != "" {
		header.Set("Accept", media)
	}
	if c.tokens != nil {
		token, err := c.tokens.get(ctx)
		if err != nil {
			return answer{}, err
		}
		header.Set("Authorization", "Bearer "+token)
	}
	return c.send(ctx, header, r.method, r.path, r.body)
}

// send sends one request with this header and no token besides; a nil body sends none,
// any other one is sent as JSON.
func (c *client) send(ctx context.Context, header http.Header, method, path string, body any) (answer, error) {
	var payload io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
		}
		payload = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if header != nil {
		request.Header = header.Clone()
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err // names method and URL already
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: text}, nil
}

var nextLink = regexp.MustCompile(`<([^>]*)>\s*;\s*rel="next"`)

// next is the path of the next page of a list, empty on the last one.
func (a answer) next() string {
	match := nextLink.FindStringSubmatch(a.header.Get("Link"))
	if match == nil {
		return ""
	}
	if at := strings.Index(match[1], "/api/"); at > 0 { // an absolute URL
		return match[1][at:]
	}
	return match[1]
}

// gist is what an answer says in words, empty if nothing.
func (a answer) gist() string {
	var said struct {
		ID     string `json:"id"`
		Code   string `json:"code"`
		Detail string `json:"detail"`
		Note   string `json:"note"`
	}
	if json.Unmarshal(a.body, &said) != nil {
		return ""
	}
	if said.Code == "" {
		return cmp.Or(said.Note, said.ID)
	}
	return said.Code + ": " + said.Detail
}

// order is a row of the queue, as far as the story looks at it.
type order struct {
	ID                       uuid.UUID  `json:"id"`
	MaloID                   string     `json:"malo_id"`
	LieferantID              string     `json:"lf_mp_id"`
	OrderType                string     `json:"order_type"`
	ProcessID                *string    `json:"process_id"`
	AusfuehrungAm            *string    `json:"ausfuehrung_am"`
	FruehestensAm            *string    `json:"fruehestens_am"`
	AusfuehrungFaelligAm     *string    `json:"ausfuehrung_faellig_am"`
	AusfuehrungEskaliertAt   *time.Time `json:"ausfuehrung_eskaliert_at"`
	VorlauffristEingehalten  *bool      `json:"vorlauffrist_eingehalten"`
	VorlauffristSpaetesterUT *string    `json:"vorlauffrist_spaetester_ut"`
	Status                   string     `json:"status"`
	Sperrversuche            int        `json:"sperrversuche"`
	ExecutedAt               *time.Time `json:"executed_at"`
	IFTSTADispatchedAt       *time.Time `json:"iftsta_dispatched_at"`
	IFTSTAAttempts           int        `json:"iftsta_attempts"`
	IFTSTALastError          *string    `json:"iftsta_last_error"`
	IFTSTAEmpfehlung         *string    `json:"iftsta_empfehlung"`
	IFTSTAEscalatedAt        *time.Time `json:"iftsta_escalated_at"`
	Warnungen                []string   `json:"warnungen"`
}

// requestedDay is the day the order asks for, empty without one.
func (o order) requestedDay() string {
	switch {
	case o.AusfuehrungAm != nil:
		return *o.AusfuehrungAm
	case o.FruehestensAm != nil:
		return *o.FruehestensAm
	default:
		return ""
	}
}

// requested is the same as a person reads it.
func (o order) requested() string {
	switch {
	case o.AusfuehrungAm != nil:
		return "on " + *o.AusfuehrungAm
	case o.FruehestensAm != nil:
		return "from " + *o.FruehestensAm
	default:
		return "at once"
	}
}

// errNotJSON tells of an answer that does not hold what it should.
var errNotJSON = errors.New("the answer is not the JSON expected")

// decode reads the body of an answer.
func decode[T any](a answer) (value T, err error) {
	if err := json.Unmarshal(a.body, &value); err != nil {
		return value, fmt.Errorf("%w: %w", errNotJSON, err)
	}
	return value, nil
}
