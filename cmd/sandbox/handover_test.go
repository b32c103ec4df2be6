package main

import (
	"cmp"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	tokenParts = regexp.MustCompile(`^(\w+)=\$\(curl -s -u ([^:]+):(\S+) (\S+)/oauth/token -d grant_type=(\S+) \| (sed .*)\)$`)
	curlParts  = regexp.MustCompile(`^curl -si?( -X (\w+))? '([^']*)'((?: -H (?:'[^']*'|"[^"]*"))*)( -d '([^']*)')?$`)
	// headerParts are a name and a value, which the shell leaves alone or expands.
	headerParts = regexp.MustCompile(` -H (?:'([^:']+): ([^']*)'|"([^:"]+): ([^"]*)")`)
)

// Every command that is printed for a person works, in the order in which it
// stands there, and those that play the market do what they say.
func TestHandOver_prints_commands_that_work(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                               string
		args                               []string
		requests, named, refused, accounts int
	}{
		{"by default", nil, 25, 3, 3, 4},
		{"where ids are required", []string{"--idempotency-required"}, 26, 9, 4, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, append(c.args, "--skip-story", "--sperrd", sperrdBinary)...)
			r.handedOver()
			p := pasted{t: t, variables: map[string]string{}}
			_, printed, _ := strings.Cut(r.output(), "Now you.")
			comment := ""
			for line := range strings.Lines(printed) {
				line = strings.TrimSpace(line)
				p.paste(line, comment)
				comment = line
			}
			if p.requests != c.requests || p.named != c.named || p.refused != c.refused || len(p.variables) != c.accounts || p.operated != 1 {
				t.Errorf("%d requests are printed, %d with a transactionId, %d refused, for %d accounts, and %d calls of sperrd",
					p.requests, p.named, p.refused, len(p.variables), p.operated)
			}
			if !strings.Contains(p.last, `"text": "Siegel 4712"`) {
				t.Errorf("the Lieferanten know only %s", p.last)
			}
		})
	}
}

// pasted is what comes of the printed commands.
type pasted struct {
	t                                  *testing.T
	variables                          map[string]string // of the shell
	requests, named, refused, operated int
	last                               string // answer
}

var promised = regexp.MustCompile(`: (4\d\d)$`)

// paste runs a printed command. The comment above it says how it is refused, if it is.
func (p *pasted) paste(line, comment string) {
	p.t.Helper()
	if parts := tokenParts.FindStringSubmatch(line); parts != nil {
		_, body := askForToken(p.t, parts[4], parts[2], parts[3], parts[5])
		p.variables[parts[1]] = pipe(p.t, body, parts[6])
		return
	}
	if strings.HasPrefix(line, "(set -a; ") {
		p.operated++
		if said := pipe(p.t, "", line); !strings.HasPrefix(said, "waiting: ") {
			p.t.Errorf("%s says %s", line, said)
		}
		return
	}
	if parts := curlParts.FindStringSubmatch(line); parts != nil {
		p.request(line, comment, parts)
	}
}

func (p *pasted) request(line, comment string, parts []string) {
	p.t.Helper()
	header := typedHeader(p.t, parts[4], p.variables)
	p.requests++
	if header.Get(headerTransactionID) != "" {
		p.named++
	}
	status, body := sendWith(p.t, header, cmp.Or(parts[2], "GET"), parts[3], parts[6])
	promise := promised.FindStringSubmatch(comment)
	switch {
	case promise != nil:
		p.refused++
		if !strings.Contains(body, `"status":`+promise[1]) {
			p.t.Errorf("%s answered with %d %s, promised was %s", line, status, body, promise[1])
		}
	case header.Get(headerInitialTransactionID) != "" && body != p.last:
		p.t.Errorf("%s answered with %d %s, not like the first call with %s", line, status, body, p.last)
	case status >= 300 && !strings.Contains(body, "nothing_to_reset"): // it may have been sent by now
		p.t.Errorf("%s answered with %d %s", line, status, body)
	}
	p.last = body
}

// typedHeader is the header of a printed command as the shell makes it.
func typedHeader(t *testing.T, text string, variables map[string]string) http.Header {
	t.Helper()
	header := http.Header{}
	for _, parts := range headerParts.FindAllStringSubmatch(text, -1) {
		switch {
		case parts[1] != "":
			header.Set(parts[1], parts[2])
		case strings.HasPrefix(parts[4], "$("):
			header.Set(parts[3], pipe(t, "", strings.Trim(parts[4], "$()")))
		default:
			header.Set(parts[3], os.Expand(parts[4], func(name string) string { return variables[name] }))
		}
	}
	return header
}

// pipe is what a command of the shell makes of a text.
func pipe(t *testing.T, text, command string) string {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-c", command)
	shell.Stdin = strings.NewReader(text)
	output, err := shell.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.TrimSpace(string(output))
}

// Whatever the folder and the password of a database are called, the shell reads them.
func TestSettings_hand_their_secrets_to_a_shell(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "it's a $HOME")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	settings := sperrdSettings{
		makodKey: "plain", inboundSecret: `it's "quoted"`, erpSecret: "whsec_a/b+c=", mcpKey: "$(false) `false` \\ #",
		databaseURL: "postgres://sperrd:p'w;x@/sperrd?host=%2Ftmp%2Fx&port=5432",
	}
	l, err := settings.write(folder)
	if err != nil {
		t.Fatal(err)
	}
	l.binary = "env"
	typed, _, _ := strings.Cut(l.typed("#"), "#") // env alone shows the variables
	said := "\n" + pipe(t, "", typed+")") + "\n"
	for _, s := range settings.secrets() {
		if !strings.Contains(said, "\n"+s.name+"="+s.value+"\n") {
			t.Errorf("the shell has no %s=%s", s.name, s.value)
		}
		if strings.Contains(settings.file(), s.value) {
			t.Errorf("sperrd.toml tells %s", s.name)
		}
	}
	for _, file := range []string{l.config, l.envFile} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 || filepath.Dir(file) != folder {
			t.Errorf("%s has the mode %s", file, info.Mode())
		}
	}
}
