package main

import (
	"bytes"
	"embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/werktag"
)

// The parties of every event. Their MaLo-IDs are drawn anew for each, since makod
// finds a process by its MaLo and an earlier run may have left orders behind.
const (
	tenant           = "9900357000004" // the Netzbetreiber whose sperrd this is
	lieferant        = "9900012345679"
	anotherLieferant = "4012345000023"
)

// The events of the story, in the spelling of their files.
const (
	fixedDate     = "17115-fixed-date"
	earliestDate  = "17115-earliest-date"
	throughMarktd = "17115-through-marktd"
	entsperrung   = "17117"
	anfrage       = "17116"
	supplierStart = "55001"
)

//go:embed events/*.json
var eventFiles embed.FS

var eventTemplates = sync.OnceValues(func() (*template.Template, error) {
	return template.ParseFS(eventFiles, "events/*.json")
})

// marketEvent is what a template in events/ is filled with.
type marketEvent struct {
	Template       string // name of its file without .json
	EventID        string // constant over all deliveries of one event
	ProcessID      string // makod's process: the subject of the event
	ConversationID string
	CausationID    string
	MaloID         string
	LieferantID    string
	Tenant         string
	At             time.Time    // when the ORDERS came in, which decides the Vorlauffrist
	Day            werktag.Date // DTM+203 or DTM+469, where the template has one
}

// newEvent draws an event about a process and a Marktlokation of its own.
func newEvent(name string, at time.Time, day werktag.Date) marketEvent {
	return marketEvent{
		Template: name, EventID: uuid.NewString(), ProcessID: uuid.NewString(),
		ConversationID: uuid.NewString(), CausationID: uuid.NewString(),
		MaloID: drawMaloID(), LieferantID: lieferant, Tenant: tenant, At: at, Day: day,
	}
}

// Time is the event's time as CloudEvents spells it.
func (e marketEvent) Time() string { return e.At.UTC().Format(time.RFC3339) }

// Date is the requested day as 2026-09-01, DateBasic as 20260901: makod's data may
// carry either.
func (e marketEvent) Date() string { return e.Day.String() }

// DateBasic is the requested day in the form of EDIFACT's format 102.
func (e marketEvent) DateBasic() string { return strings.ReplaceAll(e.Date(), "-", "") }

// pid is the Pruefidentifikator of the ORDERS behind the event.
func (e marketEvent) pid() int {
	if e.Template == entsperrung {
		return 17117
	}
	return 17115
}

// body is the CloudEvent in structured mode.
func (e marketEvent) body() ([]byte, error) {
	templates, err := eventTemplates()
	if err != nil {
		return nil, fmt.Errorf("read the events: %w", err)
	}
	var filled bytes.Buffer
	if err := templates.ExecuteTemplate(&filled, e.Template+".json", e); err != nil {
		return nil, fmt.Errorf("fill in the event %s: %w", e.Template, err)
	}
	return filled.Bytes(), nil
}

// drawMaloID returns a MaLo-ID with the right check digit: ten digits, the first
// not 0, and the distance of their weighted sum (odd places once, even ones
// twice) to the next ten.
func drawMaloID() string {
	id := fmt.Sprint(1_000_000_000 + rand.Int64N(9_000_000_000))
	return id + string(maloCheckDigit(id))
}

// spoil changes the check digit of a MaLo-ID, as a slip of the hand does.
func spoil(maloID string) string {
	last := maloID[10]
	return maloID[:10] + string('0'+(last-'0'+1)%10)
}

func maloCheckDigit(ten string) rune {
	sum := 0
	for i, r := range ten {
		sum += int(r-'0') * (1 + i%2)
	}
	return rune('0' + (10-sum%10)%10)
}
