package mcpserver

import (
	"context"
	_ "embed" // the playbooks are Markdown files

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// prompt is a question that people ask again and again, with the playbook that answers
// it. Both tell the procedure of this service; docs/operations.md and
// docs/pruefschritte.md have it at length.
type prompt struct{ name, title, description, question, playbook string }

//go:embed prompts/execute-sperrung.md
var playbookExecuteSperrung string

//go:embed prompts/iftsta-sweep.md
var playbookIFTSTASweep string

// prompts is every prompt there is.
func prompts() []prompt {
	return []prompt{
		{
			name: "execute-sperrung", title: "Carry out a Sperrung or Entsperrung and report it",
			description: "From the due list to the reported outcome: what to check before the visit, how a person reports, which Pruefschritt code fits, and what the answers mean.",
			question:    "How do I carry out a due Sperrung or Entsperrung and report its outcome correctly?",
			playbook:    playbookExecuteSperrung,
		},
		{
			name: "iftsta-sweep", title: "Find and clear outcomes that the Lieferant does not know",
			description: "Whether makod has every outcome that a Lieferant is owed, and what a human does about IFTSTA that are outstanding, overdue or stuck.",
			question:    "Are all outcomes on their way to their Lieferanten, and what has to be done about the IFTSTA that are stuck?",
			playbook:    playbookIFTSTASweep,
		},
	}
}

func (p prompt) handle(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{
		Description: p.description,
		Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: p.question}},
			{Role: "assistant", Content: &mcp.TextContent{Text: p.playbook}},
		},
	}, nil
}
