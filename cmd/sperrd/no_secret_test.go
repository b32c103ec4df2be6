package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sperrd/internal/postgres/postgrestest"
)

// runChild runs a sperrd as a process of its own to its end, whose environment is env
// alone.
func runChild(t *testing.T, toml string, env ...string) (code int, output string) {
	t.Helper()
	cmd := exec.CommandContext(patient(t), os.Args[0], "serve", "--config", writeConfig(t, toml))
	cmd.Env = append(env, childVariable+"=1")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	stdin, err := cmd.StdinPipe() // see endWithParent
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	err = cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), log.String()
}

// A database and a free port are there, so that a start which went on would serve, and
// everybody could sign.
func TestServe_without_a_usable_secret_ends_before_it_listens(t *testing.T) {
	t.Parallel()
	const key, name = "inbound_hmac_secret", "SPERRD_INBOUND_HMAC_SECRET"
	either := []string{"true", "false"} // a key that is there and blank is never excused
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: "http://127.0.0.1:1"}
	for _, c := range []struct {
		name, line string
		env        []string
		want       []string
		open       []string // values of allow_insecure_no_auth
	}{
		{"missing", "", nil, []string{key}, []string{"false"}},
		{"empty", key + ` = ""`, nil, []string{key}, either},
		{"blank", key + ` = "   "`, nil, []string{key}, either},
		{"variable unset", key + ` = "env:` + name + `"`, nil, []string{key, name}, either},
		{"variable empty", key + ` = "env:` + name + `"`, []string{name + "="}, []string{key, name}, either},
		{"variable blank", key + ` = "env:` + name + `"`, []string{name + "= \t"}, []string{key, name}, either},
		{"whsec_ alone", key + ` = "whsec_"`, nil, []string{key}, either},
		{"whsec_ alone in the variable", key + ` = "env:` + name + `"`, []string{name + "=whsec_"}, []string{key, name}, either},
	} {
		for _, open := range c.open {
			t.Run(c.name+"/allow_insecure_no_auth "+open, func(t *testing.T) {
				t.Parallel()
				toml := with(with(s.toml(), key, c.line), "allow_insecure_no_auth", "allow_insecure_no_auth = "+open)
				code, output := runChild(t, toml, c.env...)
				if code == exitOK {
					t.Errorf("exit code 0:\n%s", output)
				}
				for _, want := range c.want {
					if !strings.Contains(output, want) {
						t.Errorf("%q does not name %s", output, want)
					}
				}
				if strings.Contains(output, `"msg":"starting"`) {
					t.Errorf("it starts all the same:\n%s", output)
				}
			})
		}
	}
}
