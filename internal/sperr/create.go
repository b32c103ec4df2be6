package sperr

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/transaction"
	"sperrd/internal/werktag"
)

// NewOrder is an operator's order as it was asked for; nil is absent. Values are
// not checked yet.
type NewOrder struct {
	MaloID        string
	LieferantID   string
	OrderType     string
	ProcessID     *string // none: an operator's order has no market process
	AusfuehrungAm *string // YYYY-MM-DD, Berlin day
	FruehestensAm *string // YYYY-MM-DD, Berlin day
	Arbeitszeit   *string
	Treffpunkt    Treffpunkt
	Hinweis       string
}

// order applies the rules for an operator's order. What an ORDERS could not carry
// is refused: a date on an Entsperrung, both dates, an Arbeitszeit on a Sperrung, an
// incomplete Treffpunkt, a text that does not fit.
func (n NewOrder) order(tenant string, cal *werktag.Calendar, now time.Time) (Order, error) {
	o := Order{
		ID: uuid.New(), Tenant: tenant, MaloID: n.MaloID, LieferantID: n.LieferantID, OrderType: Type(n.OrderType),
		Status: StatusPending, CreatedAt: now, UpdatedAt: now, Warnungen: []string{},
	}
	invalid := &ValidationError{Subject: SubjectOrder}
	if err := checkMaloID(n.MaloID); err != nil {
		invalid.add("malo_id", err.Error())
	}
	if err := checkMPID(n.LieferantID); err != nil {
		invalid.add("lf_mp_id", err.Error())
	}
	if !o.OrderType.Valid() {
		invalid.add("order_type", "must be sperrung or entsperrung")
	}
	if n.ProcessID != nil {
		invalid.add("process_id", "must be null: an operator's order has no market process")
	}
	o.AusfuehrungAm = requestedDay(invalid, "ausfuehrung_am", n.AusfuehrungAm)
	o.FruehestensAm = requestedDay(invalid, "fruehestens_am", n.FruehestensAm)
	if n.AusfuehrungAm != nil && n.FruehestensAm != nil {
		invalid.add("ausfuehrung_am", "excludes fruehestens_am: give one of them")
	}
	if o.OrderType == TypeEntsperrung && (n.AusfuehrungAm != nil || n.FruehestensAm != nil) {
		invalid.add("order_type", "entsperrung carries no date: restoration is unverzüglich")
	}
	o.checkArbeitszeit(invalid, n.Arbeitszeit)
	n.Treffpunkt.check(invalid)
	checkText(invalid, "hinweis", n.Hinweis, maxFreeText)
	if err := invalid.err(); err != nil {
		return Order{}, err
	}
	o.setTreffpunkt(n.Treffpunkt)
	o.Hinweis = nullable(n.Hinweis)
	o.setFristen(cal, nil)
	o.warnOperator()
	return o, nil
}

func requestedDay(invalid *ValidationError, field string, value *string) *werktag.Date {
	if value == nil {
		return nil
	}
	day, err := werktag.ParseDate(*value)
	if err != nil {
		invalid.add(field, fmt.Sprintf("%q is no day of the calendar in the form YYYY-MM-DD", truncate(*value, 40)))
		return nil
	}
	if reason := outsideCalendar(day); reason != "" {
		invalid.add(field, reason)
		return nil
	}
	return &day
}

func (o *Order) checkArbeitszeit(invalid *ValidationError, value *string) {
	if value == nil {
		return
	}
	arbeitszeit := Arbeitszeit(*value)
	switch {
	case !arbeitszeit.Valid():
		invalid.add("arbeitszeit", "must be innerhalb or auch_ausserhalb")
	case o.OrderType == TypeSperrung:
		invalid.add("arbeitszeit", "belongs to an entsperrung")
	default:
		o.Arbeitszeit = &arbeitszeit
	}
}

// warnOperator notes what is odd about a valid operator's order.
func (o *Order) warnOperator() {
	if w := MPIDWarning(o.LieferantID); w != "" {
		o.warn("lf_mp_id: " + w)
	}
	if o.OrderType == TypeSperrung && o.RequestedDate() == nil {
		o.warn("a Sperrung without a date: it is due at once, and no Frist is counted")
	}
	if o.AusfuehrungAm != nil && o.treffpunkt().IsZero() {
		o.warn("a fixed date without a Treffpunkt")
	}
	o.warn(latin1Warning("hinweis", text(o.Hinweis))...)
	treffpunkt := o.treffpunkt()
	for _, part := range treffpunkt.parts() {
		o.warn(latin1Warning("treffpunkt."+part.name, *part.value)...)
	}
}

// createdBefore is the result of a call that has created its order already, although
// nothing but the order itself remembers that.
func (s *Service) createdBefore(ctx context.Context, tx pgx.Tx, call Call, request Order) (Result, error) {
	order, actor, err := s.repo.createdIn(ctx, tx, call.Attempt.Initial)
	switch {
	case err != nil:
		return Result{}, err
	case actor != call.Actor:
		return Result{}, &transaction.ConflictError{Reason: transaction.ReasonPrincipal}
	case !order.asksFor(request):
		return Result{}, &transaction.ConflictError{Reason: transaction.ReasonContent}
	}
	return Result{Order: order, rebuilt: true}, nil
}

// asksFor reports whether o is what request asks for.
func (o Order) asksFor(request Order) bool {
	return o.MaloID == request.MaloID && o.LieferantID == request.LieferantID && o.OrderType == request.OrderType &&
		same(o.AusfuehrungAm, request.AusfuehrungAm) && same(o.FruehestensAm, request.FruehestensAm) &&
		same(o.Arbeitszeit, request.Arbeitszeit) && same(o.Hinweis, request.Hinweis) && o.treffpunkt() == request.treffpunkt()
}

// same reports whether both are absent, or equal.
func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
