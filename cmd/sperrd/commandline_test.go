package main

import (
	"strings"
	"testing"
)

func TestCommandLine_mistakes_end_with_2(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"bogus", "migrate", "migrate sideways", "--bogus", "check extra", "--config", "migrate up --check"} {
		code, stdout, stderr := commandIn(t, nil, strings.Fields(args)...)
		if code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "sperrd: ") {
			t.Errorf("sperrd %s: exit code %d, %q, %q; want 2 and a word on stderr", args, code, stdout, stderr)
		}
	}
}

func TestCommandLine_help_names_the_commands(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := commandIn(t, nil, "--help")
	if code != exitOK || stderr != "" {
		t.Errorf("exit code %d, %q; want 0", code, stderr)
	}
	for _, want := range []string{"--config", "serve", "migrate up", "migrate down", "migrate status", "check", "health", "version"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %s in:\n%s", want, stdout)
		}
	}
}

// Not parallel: it changes what the linker sets.
func TestVersion_is_the_one_linked_in_or_else_that_of_the_sources(t *testing.T) {
	code, stdout, _ := commandIn(t, nil, "version")
	if code != exitOK || strings.TrimPrefix(stdout, "sperrd ") == "\n" {
		t.Errorf("exit code %d, %q; want 0 and something", code, stdout)
	}
	version = "v1.2.3"
	t.Cleanup(func() { version = "" })
	if _, stdout, _ = commandIn(t, nil, "version"); stdout != "sperrd v1.2.3\n" {
		t.Errorf("%q; want the version linked in", stdout)
	}
}
