package main

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"

	"sperrd/internal/werktag"
)

// paragraph is where the law counts the visit of a Sperrung, and the Vorlauf to it.
const paragraph = "GPKE Teil 2 § 3.5.1.2 Nr. 1"

// frist is a clock of an order with the days that were counted.
type frist struct {
	Art    string  `json:"art"`
	Datum  *string `json:"datum"` // nil: the calendar ends before
	Stored *string `json:"stored"`
	Anchor struct {
		Datum *string `json:"datum"`
	} `json:"anchor"`
	Rule             string     `json:"rule"`
	Paragraph        string     `json:"paragraph"`
	Uebertragungstag *string    `json:"uebertragungstag"`
	Eingehalten      *bool      `json:"eingehalten"`
	Days             []fristDay `json:"days"`
	Note             *string    `json:"note"`
}

type fristDay struct {
	Datum   string  `json:"datum"`
	Counted bool    `json:"counted"`
	Reason  *string `json:"reason"` // why it does not count
}

// orderFristen are the clocks of an order. Visit is what a visit on the day asked about
// would mean.
type orderFristen struct {
	Fristen []frist `json:"fristen"`
	Visit   *struct {
		InWindow *bool   `json:"in_window"`
		Note     *string `json:"note"`
	} `json:"visit"`
}

// whyThisDay asks what a compliance officer and the field team ask about the order that
// came too late.
func (s *story) whyThisDay(ctx context.Context) {
	s.chapter("Why this day: each Frist says how it was counted, and each code when it fits")
	before := s.fetch(ctx, s.earliest.path("")).body
	s.fristenAreExplained(ctx)
	s.theLateLieferantIsNamed(ctx)
	s.theTeamPicksACode(ctx)
	after := s.fetch(ctx, s.earliest.path("")).body
	s.expect(bytes.Equal(before, after), "asking has changed the order from %s to %s", before, after)
}

// fristenAreExplained compares the clocks of the order with those counted here, and asks
// about the first day after its window.
func (s *story) fristenAreExplained(ctx context.Context) {
	all := s.fristen(ctx, "")
	visit := s.fristOf(all, "ausfuehrung")
	s.expectCounted(visit, s.due, 6)
	s.expectStored(visit, s.earliest.AusfuehrungFaelligAm)
	vorlauf := s.fristOf(all, "vorlauf")
	s.expectCounted(vorlauf, s.due, -6)
	s.expectStored(vorlauf, s.earliest.VorlauffristSpaetesterUT)
	s.expect(vorlauf.Eingehalten != nil && !*vorlauf.Eingehalten && s.is(vorlauf.Uebertragungstag, s.came()),
		"the Vorlauf is kept %v, the order came on %v", shown(vorlauf.Eingehalten), shown(vorlauf.Uebertragungstag))
	s.note("it came on %s: not kept", s.came())
	if s.done() || visit.Datum == nil {
		return
	}
	last, err := werktag.ParseDate(*visit.Datum)
	s.try(err)
	tooLate := last.AddDays(1)
	s.note("what if the team goes there a day after the last one?")
	asked := s.fristen(ctx, "?datum="+tooLate.String())
	s.expect(asked.Visit != nil && asked.Visit.InWindow != nil && !*asked.Visit.InWindow && asked.Visit.Note != nil,
		"a visit on %s is not told to be outside the window: %+v", tooLate, asked.Visit)
	if !s.done() {
		s.note("in_window false: %s", *asked.Visit.Note)
	}
	s.expectCounted(s.fristOf(asked, "iftsta"), tooLate, 1)
}

// came is the day on which the late order came in.
func (s *story) came() werktag.Date { return werktag.BerlinDay(s.arrival(s.due, tooLateWT)) }

func (s *story) is(day *string, want werktag.Date) bool { return day != nil && *day == want.String() }

func (s *story) fristen(ctx context.Context, query string) orderFristen {
	return read[orderFristen](s, s.call(ctx, http.StatusOK, http.MethodGet, s.earliest.path("/fristen"+query), nil))
}

func (s *story) fristOf(all orderFristen, art string) frist {
	i := slices.IndexFunc(all.Fristen, func(f frist) bool { return f.Art == art })
	s.expect(i >= 0, "there is no Frist %s among %+v", art, all.Fristen)
	if s.done() {
		return frist{}
	}
	return all.Fristen[i]
}

// expectCounted counts a Frist here as well: so many Werktage after anchor, or before it.
// Where the calendar ends both have to say so.
func (s *story) expectCounted(f frist, anchor werktag.Date, werktage int) {
	if s.done() {
		return
	}
	count, n := werktag.BDEW().Add, werktage
	if werktage < 0 {
		count, n = werktag.BDEW().Sub, -werktage
	}
	want, err := count(anchor, n)
	s.expect(s.is(f.Anchor.Datum, anchor), "%s runs from %v, not from %s", f.Art, shown(f.Anchor.Datum), anchor)
	if err != nil {
		s.expect(f.Datum == nil && f.Note != nil, "%s is %v, but: %v", f.Art, shown(f.Datum), err)
		s.note("%s: %v", f.Art, shown(f.Note))
		return
	}
	s.expect(s.is(f.Datum, want), "%s is %v, not %s", f.Art, shown(f.Datum), want)
	s.expectDays(f, want, n)
	s.expect(strings.HasPrefix(f.Paragraph, "GPKE Teil 2 § "), "%s is without a paragraph: %q", f.Art, f.Paragraph)
	s.note("%s: %s, which is %s (%s), %s", f.Art, want, f.Rule, anchor, f.Paragraph)
	s.note("not counted: %s", skipped(f))
}

// expectDays looks at the way from the anchor to the last day: n of its days are
// Werktage, and each other one says why it is none.
func (s *story) expectDays(f frist, last werktag.Date, n int) {
	for _, d := range f.Days {
		day, err := werktag.ParseDate(d.Datum)
		s.try(err)
		counts, err := werktag.BDEW().IsWerktag(day)
		s.try(err)
		s.expect(d.Counted == counts && counts == (d.Reason == nil), "%s counts %s as %t: %v", f.Art, day, d.Counted, shown(d.Reason))
		if counts {
			n--
		}
	}
	s.expect(n == 0 && f.Days[len(f.Days)-1].Datum == last.String(), "%s has days that do not lead to %s: %+v", f.Art, last, f.Days)
}

// expectStored expects that the day explained is the one that the order carries, and that
// it follows from the sentence of the law on visits.
func (s *story) expectStored(f frist, carried *string) {
	s.expect(shown(f.Stored) == shown(carried) && shown(f.Datum) == shown(carried) && f.Paragraph == paragraph,
		"%s is %v by %q, the order carries %v", f.Art, shown(f.Datum), f.Paragraph, shown(carried))
}

// skipped are the days that do not count, each with its reason.
func skipped(f frist) string {
	var days []string
	for _, d := range f.Days {
		if d.Reason != nil {
			days = append(days, d.Datum+" "+*d.Reason)
		}
	}
	if days == nil {
		return "none"
	}
	return strings.Join(days, ", ")
}
