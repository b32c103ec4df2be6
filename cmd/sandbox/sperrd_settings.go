package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxAttempts are so few that the story can wait until they are spent, at most 9 s
// after the first, and so many that it has 4 s at least between the second and the
// last, in which it mends makod.
const maxAttempts = 6

// sperrdSettings are what the configuration of sperrd says about its neighbours.
type sperrdSettings struct {
	port                                           int
	makodURL, makodKey, inboundSecret, databaseURL string
	erpURL, erpSecret, issuer, mcpKey              string
	idempotencyRequired                            bool
}

// file is sperrd.toml. No secret stands in it. What would take hours or days is short
// enough here to be watched.
func (c sperrdSettings) file() string {
	return fmt.Sprintf(`# Written by the sandbox, which removes it at its end.
port   = %d
tenant = %q
makod_url           = %q
makod_api_key       = "env:SPERRD_MAKOD_API_KEY"
inbound_hmac_secret = "env:SPERRD_INBOUND_HMAC_SECRET"
erp_webhook_url     = %q
erp_hmac_secret     = "env:SPERRD_ERP_HMAC_SECRET"
shutdown_grace      = "10s"
[database]
url = "env:SPERRD_DATABASE_URL"
[oidc]
issuer   = %q
audience = %q
[mcp]
api_key = "env:SPERRD_MCP_API_KEY"
[log]
format = "text"
[iftsta]
request_timeout = "3s" # nobody waits long for a makod that hangs
max_attempts    = %d
first_backoff   = "1s"
max_backoff     = "2s"
poll_interval   = "200ms"
[idempotency]
required = %t
[frist]
scan_interval = "1s"
[outbox]
request_timeout = "5s" # less than shutdown_grace, also with an ERP that hangs
poll_interval   = "200ms"
`, c.port, tenant, c.makodURL, c.erpURL, c.issuer, audience, maxAttempts, c.idempotencyRequired)
}

// environment is ours, without what may be meant for another sperrd.
func (c sperrdSettings) environment() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "SPERRD_") {
			env = append(env, pair)
		}
	}
	for _, s := range c.secrets() {
		env = append(env, s.name+"="+s.value)
	}
	return env
}

// secret is what sperrd reads from its environment.
type secret struct{ name, value string }

func (c sperrdSettings) secrets() []secret {
	return []secret{
		{"SPERRD_MAKOD_API_KEY", c.makodKey},
		{"SPERRD_INBOUND_HMAC_SECRET", c.inboundSecret},
		{"SPERRD_ERP_HMAC_SECRET", c.erpSecret},
		{"SPERRD_DATABASE_URL", c.databaseURL},
		{"SPERRD_MCP_API_KEY", c.mcpKey},
	}
}

// envFile are the secrets as a shell reads them.
func (c sperrdSettings) envFile() string {
	var text strings.Builder
	text.WriteString("# Written by the sandbox, which removes it at its end.\n")
	for _, s := range c.secrets() {
		fmt.Fprintf(&text, "%s=%s\n", s.name, shellWord(s.value))
	}
	return text.String()
}

// write writes what sperrd reads into the folder, and beside it the secrets for a person
// who calls sperrd as well. It returns how to call it, but for the binary.
func (c sperrdSettings) write(folder string) (commandLine, error) {
	l := commandLine{
		config: filepath.Join(folder, "sperrd.toml"), envFile: filepath.Join(folder, "env"), env: c.environment(),
	}
	if err := os.WriteFile(l.config, []byte(c.file()), 0o600); err != nil {
		return commandLine{}, err
	}
	if err := os.WriteFile(l.envFile, []byte(c.envFile()), 0o600); err != nil {
		return commandLine{}, err
	}
	return l, nil
}
