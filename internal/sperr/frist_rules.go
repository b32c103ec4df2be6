package sperr

import (
	"fmt"
	"strings"

	"sperrd/internal/werktag"
)

// FristArt names a clock of the Sperrprozess.
type FristArt string

// The clocks that can be explained, spelled as the REST interface spells them.
const (
	FristAusfuehrung               FristArt = "ausfuehrung"
	FristIFTSTA                    FristArt = "iftsta"
	FristVorlauf                   FristArt = "vorlauf"
	FristVorlaufTermingebunden     FristArt = "vorlauf_termingebunden"
	FristAnfrageMSB                FristArt = "anfrage_msb"
	FristAntwortMSB                FristArt = "antwort_msb"
	FristSperrterminOhneZustimmung FristArt = "sperrtermin_ohne_zustimmung"
	FristSperrterminMitZustimmung  FristArt = "sperrtermin_mit_zustimmung"
)

// FristDirection says which way a Frist is counted from its anchor.
type FristDirection string

// Forward and backward counts, and the day itself.
const (
	FristForward  FristDirection = "forward"
	FristBackward FristDirection = "backward"
	FristNone     FristDirection = "none"
)

// The anchors and paragraphs that more than one place names.
const (
	anchorFruehestens = "frühestmöglicher Sperrtermin"
	anchorFest        = "fester Sperrtermin"
	anchorGefragt     = "gefragter Sperrtermin"
	anchorFestlegung  = "Tag der Festlegung" // on which the NB sets the Sperrtermin

	paragraphIFTSTASperrung    = "GPKE Teil 2 § 3.5.1.2 Nr. 5"
	paragraphIFTSTAEntsperrung = "GPKE Teil 2 § 3.5.2.2 Nr. 4"
	paragraphSperrtermin       = "GPKE Teil 2 § 3.5.1.2 Nr. 2"
)

// fristRule is one clock in words: the only place where a Frist is worded. How many
// Werktage it has and how they are counted stays with its function in frist.go.
type fristRule struct {
	art       FristArt
	anchor    string // what it runs from
	werktage  int
	direction FristDirection
	words     string // the rule without its number
	paragraph string
	note      string
	floor     bool // a day from which on, and not until which
	count     func(*werktag.Calendar, werktag.Date) (werktag.Date, error)
}

var fristRegister = []fristRule{
	{
		art: FristAusfuehrung, anchor: anchorFruehestens, werktage: ausfuehrungWT, direction: FristForward,
		words: "nach dem frühestmöglichen Sperrtermin", paragraph: "GPKE Teil 2 § 3.5.1.2 Nr. 1",
		count: AusfuehrungFaelligAm,
	},
	{
		art: FristIFTSTA, anchor: "Abschluss", werktage: iftstaWT, direction: FristForward,
		words: "nach dem Abschluss", paragraph: "GPKE Teil 2 § 3.5.1.2 Nr. 5 (Sperrung), § 3.5.2.2 Nr. 4 (Entsperrung)",
		note:  "Unverzüglich geht vor; bis zu diesem Tag muss die IFTSTA 21039 beim LF eingegangen sein.",
		count: IFTSTAFaelligAm,
	},
	{
		art: FristVorlauf, anchor: anchorFruehestens, werktage: vorlaufWT, direction: FristBackward,
		words: "vor dem frühestmöglichen Sperrtermin", paragraph: "GPKE Teil 2 § 3.5.1.2 Nr. 1",
		note:  "Spätester ÜT des Sperrauftrags.",
		count: spaetesterUTVor(false),
	},
	{
		art: FristVorlaufTermingebunden, anchor: anchorFest, werktage: vorlaufTermingebundenWT, direction: FristBackward,
		words: "vor dem festen Sperrtermin", paragraph: "GPKE Teil 2 § 3.5.1.2 Nr. 1",
		note:  "Spätester ÜT des Sperrauftrags.",
		count: spaetesterUTVor(true),
	},
	{
		art: FristAnfrageMSB, anchor: "Sperrtermin", werktage: anfrageVorlaufWT, direction: FristBackward,
		words: "vor dem Sperrtermin", paragraph: "GPKE Teil 2 § 3.5.1.2 Nr. 3",
		note:  "Spätester ÜT der Anfrage (ORDERS 17116); nur ohne generelle Zustimmung des MSB.",
		count: AnfrageSpaetesterUT,
	},
	{
		art: FristAntwortMSB, anchor: "ÜT der Anfrage", werktage: msbAntwortWT, direction: FristForward,
		words: "nach dem ÜT der Anfrage", paragraph: "GPKE Teil 2 § 3.5.1.2, Antwort auf Nr. 3",
		note:  "Vom Folgetag an gilt Schweigen des MSB als Zustimmung.",
		count: MSBAntwortFaelligAm,
	},
	{
		art: FristSperrterminOhneZustimmung, anchor: anchorFestlegung, werktage: sperrterminUntergrenzeWT, direction: FristForward,
		words: "nach dem Tag der Festlegung", paragraph: paragraphSperrtermin, floor: true,
		note: fmt.Sprintf("Frühester Sperrtermin ohne generelle Zustimmung des MSB. Nr. 2 nennt keine Zahl: "+
			"%d WT für die Anfrage und %d WT für die Antwort, nacheinander gezählt.", anfrageVorlaufWT, msbAntwortWT),
		count: SperrterminUntergrenze,
	},
	{
		art: FristSperrterminMitZustimmung, anchor: anchorFestlegung, direction: FristNone,
		words: "kein Vorlauf: der Tag selbst", paragraph: paragraphSperrtermin, floor: true,
		note:  "Frühester Sperrtermin mit genereller Zustimmung des MSB.",
		count: func(cal *werktag.Calendar, day werktag.Date) (werktag.Date, error) { return cal.Add(day, 0) },
	},
}

func spaetesterUTVor(termingebunden bool) func(*werktag.Calendar, werktag.Date) (werktag.Date, error) {
	return func(cal *werktag.Calendar, t0 werktag.Date) (werktag.Date, error) {
		return VorlaufSpaetesterUT(cal, t0, termingebunden)
	}
}

// FristArten are all clocks that can be explained, in the order in which they are told.
func FristArten() []FristArt {
	arten := make([]FristArt, len(fristRegister))
	for i, r := range fristRegister {
		arten[i] = r.art
	}
	return arten
}

// FristArtenText lists FristArten as a message does, with commas between them.
func FristArtenText() string {
	names := make([]string, len(fristRegister))
	for i, r := range fristRegister {
		names[i] = string(r.art)
	}
	return strings.Join(names, ", ")
}

// Valid reports whether a is one of the clocks.
func (a FristArt) Valid() bool { return a.rule().art != "" }

// rule is the zero value for what is no clock.
func (a FristArt) rule() fristRule {
	for _, r := range fristRegister {
		if r.art == a {
			return r
		}
	}
	return fristRule{}
}

// text is the rule as one reads it: "6 WT nach dem frühestmöglichen Sperrtermin".
func (r fristRule) text() string {
	if r.werktage == 0 {
		return r.words
	}
	return fmt.Sprintf("%d WT %s", r.werktage, r.words)
}

// cited is the rule with the place where it stands.
func (r fristRule) cited() string { return r.text() + ", " + r.paragraph }
