// Package mcpserver lets a language model read the queue: four tools and two prompts
// of the Model Context Protocol over [sperr.Repository]. It changes nothing and cannot:
// the repository's writes are not exported. Whoever wants something done is told which
// REST call a person makes.
//
// Every request stands alone (Streamable HTTP without sessions), so that any replica
// answers any of them and nothing is kept between two. Read tools.go first: one entry
// per tool.
package mcpserver

import (
	_ "embed" // the instructions are a Markdown file
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sperrd/internal/sperr"
)

// Options are the parts that the tools read from. All but Version are required.
type Options struct {
	Repository *sperr.Repository // only its reads are exported: that keeps this surface read-only
	Now        func() time.Time  // business time: "today" is its Berlin day
	Version    string            // of the service, as it names itself to clients
	// Open says that nobody is authenticated before this handler. The protection of a
	// loopback address against DNS rebinding then stays on; behind authentication it is
	// off, since it refuses a reverse proxy on the same machine.
	Open   bool
	Logger *slog.Logger
}

// server is what the tools share. It is safe for concurrent use.
type server struct{ Options }

// instructions is what a client tells its model about this server as a whole.
//
//go:embed prompts/instructions.md
var instructions string

// maxBody bounds a request on its own, whatever stands in front of the handler.
const maxBody = 1 << 20

// NewHandler answers the POST requests of the protocol. Who calls, from which origin
// and with which method, is checked in front of it. The handler is safe for concurrent
// use.
func NewHandler(o Options) http.Handler {
	s := &server{Options: o}
	shared := s.protocol()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shared }, &mcp.StreamableHTTPOptions{
		Stateless:                  true,
		DisableLocalhostProtection: !o.Open,
		Logger:                     o.Logger,
	})
	return single(noted(handler))
}

// protocol is the server of the SDK with all that it offers. One serves every request:
// the SDK gives each a session that ends with it.
func (s *server) protocol() *mcp.Server {
	shared := mcp.NewServer(&mcp.Implementation{Name: "sperrd", Title: "sperrd, work queue for Sperrungen", Version: s.Version},
		&mcp.ServerOptions{
			Instructions: instructions,
			// Named, so that the SDK adds neither logging nor a promise to tell of changed
			// lists, for which a client would hold a request open.
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}},
		})
	for _, t := range s.tools() {
		shared.AddTool(t.definition(), s.handle(t))
	}
	for _, p := range prompts() {
		shared.AddPrompt(&mcp.Prompt{Name: p.name, Title: p.title, Description: p.description}, p.handle)
	}
	return shared
}
