package sperr

import (
	"fmt"

	"sperrd/internal/werktag"
)

// The windows of BK6-24-174, GPKE Teil 2 § 3.5.1.2 (Sperrung) and § 3.5.2.2
// (Entsperrung), in Werktagen. docs/fristen.md explains them with examples.
const (
	ausfuehrungWT            = 6
	iftstaWT                 = 1
	vorlaufWT                = 6
	vorlaufTermingebundenWT  = 12
	anfrageVorlaufWT         = 3
	msbAntwortWT             = 3
	sperrterminUntergrenzeWT = anfrageVorlaufWT + msbAntwortWT
)

// AusfuehrungFaelligAm returns the last day on which a Sperrung is in time: the
// 6th Werktag after the earliest Sperrtermin t0, which is itself not counted and
// may be any day (GPKE Teil 2 § 3.5.1.2 Nr. 1). For a termingebundene order t0
// is the fixed Sperrtermin. An Entsperrung is owed unverzüglich (§ 3.5.2) and
// has no such day.
//
// This and all other Fristen return werktag.ErrOutsideCalendar if a date is
// missing or lies, or leads, outside the calendar.
func AusfuehrungFaelligAm(cal *werktag.Calendar, t0 werktag.Date) (werktag.Date, error) {
	return cal.Add(t0, ausfuehrungWT)
}

// IFTSTAFaelligAm returns the last day on which the outcome (IFTSTA 21039) may
// reach the Lieferant: the 1st Werktag after the Abschluss, the Berlin day on
// which the order came to its end in the field (GPKE Teil 2 § 3.5.1.2 Nr. 5 and
// § 3.5.2.2 Nr. 4). Unverzüglich comes first; this is the outer limit.
func IFTSTAFaelligAm(cal *werktag.Calendar, abschluss werktag.Date) (werktag.Date, error) {
	return cal.Add(abschluss, iftstaWT)
}

// Vorlauffrist is the verdict on the lead time that the Lieferant owes. It is
// recorded and reported, and no order is refused on it.
type Vorlauffrist struct {
	// SpaetesterUT is the last day on which the order could be received in time.
	SpaetesterUT werktag.Date
	// Eingehalten tells that the order was received on that day or before.
	Eingehalten bool
}

// VorlaufSpaetesterUT returns the last day on which a Sperrauftrag may be received:
// the 6th Werktag before the earliest Sperrtermin t0 or, if termingebunden, the 12th
// before the fixed one (GPKE Teil 2 § 3.5.1.2 Nr. 1).
func VorlaufSpaetesterUT(cal *werktag.Calendar, t0 werktag.Date, termingebunden bool) (werktag.Date, error) {
	if termingebunden {
		return cal.Sub(t0, vorlaufTermingebundenWT)
	}
	return cal.Sub(t0, vorlaufWT)
}

// JudgeVorlauffrist says whether a Sperrauftrag received on the day ut left the
// Vorlauf before t0: received at the latest on the day VorlaufSpaetesterUT. It
// counts backwards from t0, as the text does: counting forward from ut differs
// where just one of the two days is no Werktag.
func JudgeVorlauffrist(cal *werktag.Calendar, t0 werktag.Date, termingebunden bool, ut werktag.Date) (Vorlauffrist, error) {
	spaetester, err := VorlaufSpaetesterUT(cal, t0, termingebunden)
	if err != nil {
		return Vorlauffrist{}, err
	}
	// A missing day sorts before every other and would pass for an early one.
	if _, err := cal.IsWerktag(ut); err != nil {
		return Vorlauffrist{}, fmt.Errorf("day of receipt: %w", err)
	}
	return Vorlauffrist{SpaetesterUT: spaetester, Eingehalten: !ut.After(spaetester)}, nil
}

// AnfrageSpaetesterUT returns the last day on which the Messstellenbetreiber may
// receive the Anfrage (17116): the 3rd Werktag before the Sperrtermin (GPKE
// Teil 2 § 3.5.1.2 Nr. 3). It is owed only without a generelle Zustimmung.
func AnfrageSpaetesterUT(cal *werktag.Calendar, sperrtermin werktag.Date) (werktag.Date, error) {
	return cal.Sub(sperrtermin, anfrageVorlaufWT)
}

// MSBAntwortFaelligAm returns the last day for the Messstellenbetreiber's answer
// to an Anfrage received on the day ut: the 3rd Werktag after it (GPKE Teil 2
// § 3.5.1.2, the answer to Nr. 3). From the next day on silence is consent.
func MSBAntwortFaelligAm(cal *werktag.Calendar, ut werktag.Date) (werktag.Date, error) {
	return cal.Add(ut, msbAntwortWT)
}

// SperrterminUntergrenze returns the earliest Sperrtermin that the Netzbetreiber
// may set today without a generelle Zustimmung of the Messstellenbetreiber, so
// that a timely answer is possible before it: the 6th Werktag after today (GPKE
// Teil 2 § 3.5.1.2 Nr. 2). Nr. 2 names no number; six are the 3 WT of the
// Anfrage and the 3 WT of the answer one after the other, the cautious reading.
func SperrterminUntergrenze(cal *werktag.Calendar, today werktag.Date) (werktag.Date, error) {
	return cal.Add(today, sperrterminUntergrenzeWT)
}
