package sperr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"

	"sperrd/internal/werktag"
)

// The event that announces a market process, and the workflow whose processes are
// ours. Gas uses the same PIDs under other workflows.
const (
	typeProcessInitiated = "de.mako.process.initiated"
	workflowGPKESperrung = "gpke-sperrung"
	pidStornierung       = 39000 // ORDCHG: the LF withdraws an order
)

// eventKind is what an incoming event means to this service.
type eventKind int

const (
	kindNotOurs     eventKind = iota // acknowledge and forget
	kindOrder                        // a 17115 or 17117: queue it
	kindStornierung                  // a 39000: makod answers it, a human here must know
)

// ingester turns market events into orders of one tenant.
type ingester struct {
	tenant   string
	calendar *werktag.Calendar
	now      func() time.Time
}

// read tells what e, which first came at received, means and, for a 17115 or 17117, which
// order it is; of a
// Stornierung the order has the process alone. An event that is ours but cannot
// become an order (no Marktlokation, no Lieferant, no process, another recipient,
// both dates, a date nobody can read) is a *ValidationError; every lesser fault is a
// warning on the order, since a refused event is a lost order.
func (in ingester) read(e event.Event, received time.Time) (eventKind, Order, error) {
	if e.Type() != typeProcessInitiated {
		return kindNotOurs, Order{}, nil
	}
	workflow := extension(e, "makoworkflow")
	if workflow != "" && workflow != workflowGPKESperrung {
		return kindNotOurs, Order{}, nil
	}
	data, dataErr := readMarketData(e.Data())
	pid, field, err := eventPID(e, data)
	if err != nil {
		return kindNotOurs, Order{}, unusable(field, err.Error())
	}
	orderType, carriesOrder := typeOfPID(pid)
	switch {
	case field == "" && dataErr != nil:
		return kindNotOurs, Order{}, unusable("data", dataErr.Error())
	case field == "" && workflow != "":
		return kindNotOurs, Order{}, unusable("makopid", "is missing, and so is data.pid")
	case pid == pidStornierung && !in.isReceiver(data):
		return kindNotOurs, Order{}, nil
	case pid == pidStornierung:
		process, err := readProcess(e)
		return kindStornierung, Order{ProcessID: &process}, err
	case !carriesOrder:
		return kindNotOurs, Order{}, nil
	case dataErr != nil:
		return kindOrder, Order{}, unusable("data", dataErr.Error())
	}
	now := in.now()
	order, err := in.order(e, data, received, Order{
		ID: uuid.New(), Tenant: in.tenant, OrderType: orderType, Pruefidentifikator: &pid,
		Status: StatusPending, CreatedAt: now, UpdatedAt: now, Warnungen: []string{},
	})
	return kindOrder, order, err
}

// order reads the rest of an order whose type and PID are known.
func (in ingester) order(e event.Event, data marketData, received time.Time, o Order) (Order, error) {
	invalid := &ValidationError{Subject: SubjectEvent}
	in.readParties(&o, invalid, e, data)
	pid := *o.Pruefidentifikator
	if other, err := data.pid(); err != nil {
		o.warn("data.pid cannot be read; makopid counts")
	} else if other != 0 && other != pid {
		o.warn(fmt.Sprintf("data.pid is %d, but makopid is %d and counts", other, pid))
	}
	readDates(&o, invalid, data)
	if err := invalid.err(); err != nil {
		return Order{}, err
	}
	readArbeitszeit(&o, data)
	readTreffpunkt(&o, data)
	if data.isNoText("hinweis") {
		o.warn("hinweis is no text and was ignored")
		delete(data, "hinweis")
	}
	hinweis, warnings := cleanMarketText("hinweis", data.text("hinweis"), maxFreeText)
	o.Hinweis = nullable(hinweis)
	o.warn(warnings...)
	o.Marktdaten = marktdaten(o)
	o.Uebertragungstag = uebertragungstag(e, received)
	o.setFristen(in.calendar, o.Uebertragungstag)
	return o, nil
}

// readParties reads who, for whom, where and in which process.
func (in ingester) readParties(o *Order, invalid *ValidationError, e event.Event, data marketData) {
	o.MaloID = data.text("malo_id")
	if o.MaloID == "" {
		invalid.add("malo_id", "is missing")
	} else if err := checkMaloID(o.MaloID); err != nil {
		invalid.add("malo_id", fmt.Sprintf("%q %v", truncate(o.MaloID, 40), err))
	}
	o.LieferantID = data.text("lf_mp_id")
	sender := data.text("sender")
	if o.LieferantID == "" {
		o.LieferantID = sender
	} else if sender != "" && sender != o.LieferantID {
		o.warn("data.sender differs from lf_mp_id, which counts")
	}
	if o.LieferantID == "" {
		invalid.add("lf_mp_id", "is missing, and so is sender")
	} else if err := checkMPID(o.LieferantID); err != nil {
		invalid.add("lf_mp_id", fmt.Sprintf("%q %v", truncate(o.LieferantID, 40), err))
	}
	if w := MPIDWarning(o.LieferantID); w != "" {
		o.warn("lf_mp_id: " + w)
	}
	if !in.isReceiver(data) {
		invalid.add("receiver", fmt.Sprintf("%q is not this Netzbetreiber", truncate(data.text("receiver"), 40)))
	}
	process, err := readProcess(e)
	var noProcess *ValidationError
	if errors.As(err, &noProcess) {
		invalid.Fields = append(invalid.Fields, noProcess.Fields...)
	}
	o.ProcessID = &process
}

// isReceiver reports whether the message is for this Netzbetreiber, as far as it says.
func (in ingester) isReceiver(data marketData) bool {
	receiver, given := data.scalar("receiver")
	return !given || receiver == in.tenant
}

// readProcess is the makod process of an event. Without one an outcome could not be
// reported back, nor a Stornierung be matched.
func readProcess(e event.Event) (string, error) {
	process := canonicalProcess(e.Subject())
	switch {
	case process == "":
		return "", unusable("subject", "is missing, and with it the process")
	case len(process) > 200 || strings.ContainsFunc(process, func(r rune) bool { return r < ' ' }):
		return "", unusable("subject", "is no process id")
	}
	return process, nil
}

// readDates reads DTM+203 and DTM+469, which exist on a 17115 only and exclude
// each other (ORDERS AHB 1.1b, conditions [55] and [56]).
func readDates(o *Order, invalid *ValidationError, data marketData) {
	fixed, fixedOK := data.scalar("ausfuehrung_am")
	earliest, earliestOK := data.scalar("fruehestens_am")
	if o.OrderType == TypeEntsperrung {
		if fixedOK || earliestOK {
			o.warn("an Entsperrauftrag carries no date; the one given was ignored")
		}
		return
	}
	switch {
	case fixedOK && earliestOK:
		invalid.add("ausfuehrung_am", "excludes fruehestens_am (DTM+203, DTM+469)")
	case fixedOK:
		if t, ok := readTermin(o, invalid, "ausfuehrung_am", fixed); ok {
			o.AusfuehrungAm, o.AusfuehrungZeitpunkt = &t.day, t.instant
		}
	case earliestOK:
		if t, ok := readTermin(o, invalid, "fruehestens_am", earliest); ok {
			o.FruehestensAm = &t.day
			if t.instant != nil && !t.instant.Equal(t.day.Start()) {
				o.warn("fruehestens_am names an hour, which is not kept; the day is " + t.day.String())
			}
		}
	default:
		o.warn("the Sperrauftrag carries neither DTM+203 nor DTM+469, so no Frist is counted")
	}
}

// readTermin reads a date in whichever form; the forms mean the same, and only a guess is
// worth a warning.
func readTermin(o *Order, invalid *ValidationError, field, value string) (termin, bool) {
	t, err := parseDTM(value)
	if err != nil {
		invalid.add(field, fmt.Sprintf("%q is no date this service can read", truncate(value, 40)))
		return termin{}, false
	}
	if reason := outsideCalendar(t.day); reason != "" {
		invalid.add(field, reason)
		return termin{}, false
	}
	if t.guessed {
		o.warn(fmt.Sprintf("%s %q names no offset and was read as UTC: %s", field, value, t.instant.Format(time.RFC3339)))
	}
	return t, true
}

// readArbeitszeit reads IMD+7081, a Muss on a 17117 and absent on a 17115.
func readArbeitszeit(o *Order, data marketData) {
	value, given := data.scalar("arbeitszeit")
	if o.OrderType == TypeSperrung {
		if given {
			o.warn("a Sperrauftrag carries no Arbeitszeit; the one given was ignored")
		}
		return
	}
	arbeitszeit, ok := parseArbeitszeit(value)
	switch {
	case ok:
		o.Arbeitszeit = &arbeitszeit
	case given:
		o.warn(fmt.Sprintf("arbeitszeit %+q is neither Z53 nor Z54 and was ignored", truncate(value, 40)))
	default:
		o.warn("the Entsperrauftrag carries no Arbeitszeit (IMD+7081)")
	}
}

func readTreffpunkt(o *Order, data marketData) {
	treffpunkt, warnings := data.treffpunkt()
	o.warn(warnings...)
	o.warn(treffpunkt.normalizeMarket()...)
	o.setTreffpunkt(treffpunkt)
	if o.AusfuehrungAm != nil && treffpunkt.IsZero() {
		o.warn("DTM+203 without a Treffpunkt: the order is bound to day, hour and place")
	}
}

// mistakable reports whether an event that is not ours looks as if it should be: a
// PID of ours under a workflow that is ours but for its spelling, or that contradicts
// the event's other PID. A human should look.
func mistakable(e event.Event) bool {
	workflow := strings.TrimSpace(strings.ToValidUTF8(extension(e, "makoworkflow"), ""))
	if e.Type() != typeProcessInitiated || workflow != "" && !strings.EqualFold(workflow, workflowGPKESperrung) {
		return false
	}
	data, _ := readMarketData(e.Data()) // no data is no PID
	pid, _ := data.pid()
	announced, _ := parsePID(extension(e, "makopid"))
	_, inData := typeOfPID(pid)
	_, inEnvelope := typeOfPID(announced)
	return inData || inEnvelope
}

// uebertragungstag is the day on which the Netzbetreiber received the ORDERS: the
// event's own time where it is given and not after our receipt, else that receipt. A
// delivery that comes late through no fault of the Lieferant does not move it.
func uebertragungstag(e event.Event, received time.Time) *werktag.Date {
	if t := e.Time(); !t.IsZero() && !t.After(received) {
		received = t
	}
	day := werktag.BerlinDay(received)
	return &day
}

// unusable is the error of an event that is ours but cannot become an order.
func unusable(field, reason string) error {
	v := &ValidationError{Subject: SubjectEvent}
	v.add(field, reason)
	return v
}

// warn adds what a human should look at; the same warning is kept once.
func (o *Order) warn(warnings ...string) {
	for _, w := range warnings {
		if !slices.Contains(o.Warnungen, w) {
			o.Warnungen = append(o.Warnungen, w)
		}
	}
}
