package sperr

import (
	"fmt"
	"slices"
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

// read tells what e, which first came at received, means and, for a 17115 or 17117,
// which order it is; of a Stornierung the order has the process alone. An event that is
// ours but cannot become an order (no Marktlokation, no Lieferant, no process, another
// recipient, both dates, a date nobody can read) is a *ValidationError; every lesser
// fault is a warning on the order, since a refused event is a lost order.
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
	readUebertragungstag(&o, e, received)
	o.setFristen(in.calendar, o.Uebertragungstag)
	return o, nil
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
