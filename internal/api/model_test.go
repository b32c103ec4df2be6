package api_test

import (
	"testing"

	"pgregory.net/rapid"
)

// Random sequences of calls, also at the same time, through two processes of the service
// and with everything around them failing, against a model that is told the rules alone.
// The model says what each call must be answered, and what must be left in the end.
//
// More than the usual sequences are had with -rapid.checks; a failure is had again with
// the -rapid.seed that it names. Calls at the same time may not fail again, though.
func TestAny_sequence_of_calls_does_each_operation_once_and_answers_it_alike(t *testing.T) {
	t.Parallel()
	w := newModelWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 4, 12).Draw(rt, "steps")
		s := w.begin(rt, rapid.Bool().Draw(rt, "makod compares keys"))
		defer s.end()
		for _, step := range steps {
			s.step(step)
		}
		s.release()
		s.compare()
		s.work(modelStep{})
		s.compare()
	})
}

func (s *modelSequence) step(step modelStep) {
	calls := make([]modelCall, len(step.Calls))
	for i, d := range step.Calls {
		calls[i] = s.call(d)
	}
	switch step.Kind {
	case "call":
		s.sequential(calls[0], step)
	case "burst":
		for i := range calls {
			if calls[i].route == "reset" { // it may come between the outcome and its dispatch, which are one step here
				calls[i].route = "cancel"
			}
		}
		s.burst(calls, step)
	case "hold":
		s.hold(calls[0], step)
	case "release":
		s.release()
	case "hangup":
		s.hangUp()
	case "crash":
		s.crash(step.Replica)
	case "worker":
		s.work(step)
	}
}
