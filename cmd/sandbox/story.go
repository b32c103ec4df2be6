package main

import (
	"context"

	"sperrd/internal/werktag"
)

// story is one day of a Netzbetreiber, told in chapters. Each order in it meets
// another fate.
type story struct {
	narrator
	*neighbourhood
	before stats // earlier runs may have left orders behind

	today werktag.Date
	due   werktag.Date // the last Werktag up to today, on which a visit can be due

	fixed       order // a day fixed by the court: the team succeeds
	earliest    order // the team goes there twice in vain, while the ERP is down
	entsperrung order // done, while makod fails
	withdrawn   order // cancelled before anybody goes there
	late        order // too late: announced, done, and makod has closed its process
	operator    order // no market behind it
	repeated    order // reported where the network is bad, each report twice
	reordered   order // made twice by an operator's client, and cancelled
	replayed    order // refused for a mistake that was not the Lieferant's, and replayed
}

// How many Werktage before the day it asks for an ORDERS of the story comes in. The
// Lieferant owes twelve for a fixed date and six otherwise.
const (
	inTimeWT  = 13 // fixed date
	tooLateWT = 3  // earliest date
	aheadWT   = 20 // fixed date, ordered today
	// lateWT is how many Werktage ago the day of the late order was. Its window of six
	// is over.
	lateWT = 10
)

// newStory is the story of the day today.
func newStory(n *neighbourhood, today werktag.Date) *story {
	s := &story{narrator: narrator{out: n.stdout}, neighbourhood: n, today: today}
	var err error
	// Counting back from tomorrow finds today itself when it is a Werktag.
	s.due, err = werktag.BDEW().Sub(today.AddDays(1), 1)
	s.try(err)
	return s
}

// tell plays the day. It returns what was not as expected.
func (s *story) tell(ctx context.Context) error {
	s.before = s.stats(ctx)
	chapters := []func(context.Context){
		s.theMarketOrders, s.theERPLearns, s.theTeamLooksAtItsDay, s.theDispatcherPlansTheRoute, s.whyThisDay, s.whoMayDoWhat,
		s.theAppAsksFirst, s.aVisitSucceeds, s.reportsComeTwice, s.twoVisitsFail, s.makodHasClosedAProcess, s.makodFails, s.anOrderIsWithdrawn, s.theOperatorOrders,
		s.whatIsNotRightIsRefused, s.aMessageCannotBeRead, s.theAttemptsAreSpent, s.theERPRecovers, s.takeStock,
	}
	for _, chapter := range chapters {
		if s.done() {
			break
		}
		chapter(ctx)
	}
	return s.err
}
