package loop

// Signal tells a loop that there is work now. Set never blocks, and signals that
// nobody has taken yet are one. It belongs to one loop: of two that waited, one would
// wake. It is safe for concurrent use.
type Signal struct {
	c chan struct{}
}

// NewSignal returns a Signal that is not set.
func NewSignal() *Signal { return &Signal{c: make(chan struct{}, 1)} }

// Set wakes the loop, now or when it next rests. A nil Signal wakes nobody.
func (s *Signal) Set() {
	if s == nil {
		return
	}
	select {
	case s.c <- struct{}{}:
	default: // set already
	}
}

// wait is the channel to receive the signal from; of a nil Signal none ever comes.
func (s *Signal) wait() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.c
}
