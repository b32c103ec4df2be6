package makodtest

import "sperrd/internal/neighbourtest"

// Gate holds answers back. A command that reaches it has been evaluated and, if
// makod accepts it, carried out; only its answer waits. That is the moment in
// which a sender must not die, send twice or forget.
type Gate = neighbourtest.Gate

// Hold puts up a gate for every command from now on. Release it in the end.
func (s *Server) Hold() *Gate { return s.HoldFor("") }

// HoldFor puts up a gate for the commands of one MaLo.
func (s *Server) HoldFor(maloID string) *Gate { return s.line.Hold(maloID) }
