package transaction

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// know is an operation as one of its ids finds it.
func know(id, logicalID string, received bool) row {
	var at *time.Time
	if received {
		at = &testNow
	}
	return row{
		TransactionID: id, ReceivedAt: at, LogicalID: logicalID, Principal: "https://idp anna", Operation: "PUT /x",
		FingerprintVersion: FingerprintVersion, Fingerprint: append([]byte{1}, make([]byte, 31)...),
	}
}

// TestResolve_of_every_constellation has for each of both ids of the call B(initial A):
// nobody knows it, another call has named it, it has arrived itself.
func TestResolve_of_every_constellation(t *testing.T) {
	t.Parallel()
	const none, bound = "", "conflict"
	for name, c := range map[string]struct {
		id, initial string
		known       []row
		want        string   // the logical id of the operation, or one of the two above
		missing     []string // the ids to be bound to it
	}{
		"nobody knows either":                          {idB, idA, nil, none, nil},
		"the first call is there":                      {idB, idA, []row{know(idA, idA, true)}, idA, []string{idB}},
		"the first call is lost, a third one is there": {idB, idA, []row{know(idA, idA, false)}, idA, []string{idB}},
		"both have come":                               {idB, idA, []row{know(idA, idA, true), know(idB, idA, true)}, idA, nil},
		"this one is here again, the first is lost":    {idB, idA, []row{know(idA, idA, false), know(idB, idA, true)}, idA, nil},
		"a call has named this one as its first":       {idB, idA, []row{know(idB, idB, false)}, idB, []string{idA, idB}},
		"both are named":                               {idB, idA, []row{know(idA, idB, false), know(idB, idB, false)}, idB, []string{idB}},
		"this one is named, the first is there":        {idB, idA, []row{know(idA, idB, true), know(idB, idB, false)}, idB, []string{idB}},
		"this one was a first call by itself":          {idB, idA, []row{know(idB, idB, true)}, bound, nil},
		"this one repeated a third":                    {idB, idA, []row{know(idB, idC, true)}, bound, nil},
		"each has an operation, this one has come":     {idB, idA, []row{know(idA, idA, true), know(idB, idB, true)}, bound, nil},
		"each has an operation, this one is named":     {idB, idA, []row{know(idA, idA, true), know(idB, idB, false)}, bound, nil},
		"each has an operation, both are named":        {idB, idA, []row{know(idA, idC, false), know(idB, idB, false)}, bound, nil},

		"a first call nobody knows":         {idA, idA, nil, none, nil},
		"a first call again":                {idA, idA, []row{know(idA, idA, true)}, idA, nil},
		"a first call that comes late":      {idA, idA, []row{know(idA, idA, false)}, idA, []string{idA}},
		"a late first call of a chain":      {idA, idA, []row{know(idA, idB, false)}, idB, []string{idA}},
		"a repetition without its first id": {idB, idB, []row{know(idB, idA, true)}, idA, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := map[string]row{}
			for _, r := range c.known {
				known[r.TransactionID] = r
			}
			operation, missing, err := resolve(attempt(c.id, c.initial), known)
			if c.want == bound {
				if wantConflict(t, err, ReasonBound); operation != nil {
					t.Errorf("operation %s beside a conflict", operation.LogicalID)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if operation != nil {
				got = operation.LogicalID
			}
			if got != c.want {
				t.Errorf("operation %q, want %q", got, c.want)
			}
			if diff := cmp.Diff(c.missing, missing); diff != "" {
				t.Errorf("ids to be bound (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolve_tells_a_stranger_of_no_operation(t *testing.T) {
	t.Parallel()
	a := attempt(idB, idA)
	a.Principal = "https://idp otto"
	_, _, err := resolve(a, map[string]row{idB: know(idB, idB, true)})
	wantConflict(t, err, ReasonPrincipal)
	_, _, err = resolve(a, map[string]row{idA: know(idA, idA, true), idB: know(idB, idB, true)})
	wantConflict(t, err, ReasonPrincipal)
}

func TestCompare_names_the_first_difference_only(t *testing.T) {
	t.Parallel()
	r := know(idA, idA, true)
	if err := r.compare(attempt(idB, idA)); err != nil {
		t.Errorf("the same call: %v", err)
	}
	differ := []func(*Attempt){
		func(a *Attempt) { a.Principal = "https://idp otto" },
		func(a *Attempt) { a.Operation = "PUT /y" },
		func(a *Attempt) { a.Fingerprint = Fingerprint{2} },
	}
	// Whoever differs in several things is told of the first one: to a stranger the others
	// would tell something of a call that is not his.
	a := attempt(idB, idA)
	for i, reason := range slices.Backward([]Reason{ReasonPrincipal, ReasonOperation, ReasonContent}) {
		differ[i](&a)
		wantConflict(t, r.compare(a), reason)
	}
	r.FingerprintVersion++
	wantConflict(t, r.compare(attempt(idB, idA)), ReasonContent)
}

func TestIDs_are_locked_in_one_order_and_each_once(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{idA, idB}, attempt(idB, idA).ids()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{idA, idB}, attempt(idA, idB).ids()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{idA}, attempt(idA, idA).ids()); diff != "" {
		t.Error(diff)
	}
}
