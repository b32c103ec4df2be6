package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// commandLine is sperrd as an operator calls it, with the configuration of the one
// that serves.
type commandLine struct {
	binary, config string
	env            []string
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
