package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// commandLine is sperrd as an operator calls it, with the configuration of the one
// that serves.
type commandLine struct {
	binary, config string
	env            []string
	envFile        string // sets the secrets in env, for a shell
}

// typed is the same as a person types it, who has the file alone.
func (c commandLine) typed(arg ...string) string {
	return fmt.Sprintf("(set -a; . %s; %s %s --config %s)",
		shellWord(c.envFile), shellWord(c.binary), strings.Join(arg, " "), shellWord(c.config))
}

var plainWord = regexp.MustCompile(`^[\w./:@%+,-]+$`)

// shellWord is text as one word of the shell, in quotes where it needs them.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// lines runs a command to its end and returns what it prints.
func (c commandLine) lines(ctx context.Context, arg ...string) ([]string, error) {
	command := exec.CommandContext(ctx, c.binary, append(slices.Clone(arg), "--config", c.config)...)
	command.Env = c.env
	output, err := command.Output()
	if err != nil {
		var said []byte
		if ended := new(exec.ExitError); errors.As(err, &ended) {
			said = ended.Stderr
		}
		return nil, fmt.Errorf("sperrd %s: %w\n%s", strings.Join(arg, " "), err, said)
	}
	return strings.Split(strings.TrimRight(string(output), "\n"), "\n"), nil
}
