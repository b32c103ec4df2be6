package sperr

import "fmt"

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
