package makod

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"sperrd/internal/httpclient"
	"sperrd/internal/telemetry"
)

// The two commands of the Netzbetreiber for an ORDERS 17115 or 17117. makod
// needs the same ones for a Sperrung and an Entsperrung.
const (
	// CommandBestaetigen reports a carried out order (IFTSTA 21039, Z14).
	CommandBestaetigen = "gpke.sperrung.bestaetigen"
	// CommandFehlgeschlagen reports an order that finally failed (IFTSTA 21039, Z13).
	CommandFehlgeschlagen = "gpke.sperrung.fehlgeschlagen"
)

// MarktrolleNB is the role in which the Netzbetreiber submits both commands.
const MarktrolleNB = "NB"

// Command is one outcome to report.
type Command struct {
	// Name is CommandBestaetigen or CommandFehlgeschlagen.
	Name string
	// Marktrolle is MarktrolleNB; makod derives it when it is empty.
	Marktrolle string
	// IdempotencyKey is the same for every attempt of one outcome.
	IdempotencyKey string
	// TransactionID names this attempt, a UUID that no other call has.
	TransactionID string
	// InitialTransactionID is the TransactionID of the first attempt, a UUID. It is
	// empty on that one, and its header absent then.
	InitialTransactionID string
	// ReferenceID names the operation that reported the outcome: the
	// initialTransactionId of that call, else its transactionId, a UUID. Where there
	// is none it is empty, and its header absent.
	ReferenceID string
	// Payload must marshal to a JSON object, and to the same one each time: makod
	// compares it with that of earlier attempts under the same key.
	Payload any
}

// encode renders the body of the request. Struct fields keep their order and
// encoding/json sorts the keys of maps, so equal commands give equal bytes.
func encode(cmd Command) ([]byte, error) {
	if cmd.Name == "" {
		return nil, errors.New("the command has no name")
	}
	if cmd.IdempotencyKey == "" || !isToken(cmd.IdempotencyKey) {
		return nil, errors.New("the idempotency key must be visible ASCII without spaces")
	}
	if err := checkTransaction(cmd); err != nil {
		return nil, err
	}
	payload, err := cmd.EncodePayload()
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Command    string          `json:"command"`
		Marktrolle string          `json:"marktrolle,omitempty"`
		Payload    json.RawMessage `json:"payload"`
	}{cmd.Name, cmd.Marktrolle, payload})
}

// EncodePayload renders the payload to the bytes that every attempt sends.
func (c Command) EncodePayload() ([]byte, error) {
	payload, err := json.Marshal(c.Payload)
	if err != nil {
		return nil, fmt.Errorf("encode the payload: %w", err)
	}
	if payload[0] != '{' {
		return nil, errors.New("the payload is no JSON object")
	}
	return payload, nil
}

// checkTransaction refuses what a receiver that reads the identifiers would refuse.
func checkTransaction(cmd Command) error {
	switch {
	case !ValidID(cmd.TransactionID):
		return errors.New("the transaction id must be a UUID")
	case cmd.InitialTransactionID != "" && !ValidID(cmd.InitialTransactionID):
		return errors.New("the initial transaction id must be a UUID, or empty")
	case cmd.ReferenceID != "" && !ValidID(cmd.ReferenceID):
		return errors.New("the reference id must be a UUID, or empty")
	}
	return nil
}

// ValidID reports whether s can be an id of a Command: a UUID in its usual form;
// uuid.Parse takes other forms too. The nil UUID names nothing and is none.
func ValidID(s string) bool {
	id, err := uuid.Parse(s)
	return err == nil && id != uuid.Nil && len(s) == len(uuid.Nil.String())
}

// request builds one attempt. Body and key are the same each time; the transaction is
// of this attempt alone.
func (c *Client) request(ctx context.Context, cmd Command, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+commandsPath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	// net/http takes a POST with an Idempotency-Key for repeatable and sends it
	// again by itself when a kept-alive connection dies. makod need not compare
	// keys, so a second copy would be a second command, and under a transactionId
	// that is used up. Without GetBody the transport cannot repeat, and the broken
	// connection becomes our error.
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", cmd.IdempotencyKey)
	httpclient.SetTransaction(req.Header, cmd.TransactionID, c.now())
	telemetry.ToHeader(ctx, req.Header)
	// These two are spelled to the letter as well, which Set would not do.
	if cmd.InitialTransactionID != "" {
		req.Header["initialTransactionId"] = []string{cmd.InitialTransactionID}
	}
	if cmd.ReferenceID != "" {
		req.Header["referenceId"] = []string{cmd.ReferenceID}
	}
	if c.apiKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.apiKey)
	}
	return req, nil
}
