package sperr

import (
	"slices"
	"strings"
)

// The actors in the history that are no person with a token.
const (
	actorService = "sperrd" // what the service does by itself
	actorMarket  = "makod"  // what a market event does
	// ActorDev is everybody where no tokens are checked, ActorMCP whoever has the key of
	// MCP, which changes nothing: it stands in logs alone.
	ActorDev = "dev-admin"
	ActorMCP = "mcp-key"
	// ActorCLI begins the actor of a command, whose user follows.
	ActorCLI = "cli:"
	actorSQL = "sql:" // begins that of a statement in psql, see the trigger of the reset
)

// ReservedActor reports whether the history uses a name for somebody else than a person
// with a token, who must therefore not bear it, in whatever case.
func ReservedActor(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains([]string{actorService, actorMarket, ActorDev, ActorMCP}, name) ||
		strings.HasPrefix(name, ActorCLI) || strings.HasPrefix(name, actorSQL)
}
