package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// lastLogLines is how much of a log is shown when its process has failed.
const lastLogLines = 12

// child is another process, which ends when this one does.
type child struct {
	binary    string
	args, env []string
	log       string    // file for all that it writes
	show      io.Writer // gets the same, for a person; may be nil
	started   chan int  // gets its process id; holds one
}

// run runs the process until it ends, which the end of ctx makes it do. Whatever
// way it ended, the error says so; an end that nobody asked for comes with the
// last lines of the log.
func (c *child) run(ctx context.Context) error {
	log, err := os.Create(c.log)
	if err != nil {
		return fmt.Errorf("open its log: %w", err)
	}
	defer log.Close()
	// Where the kernel ends a child with its parent it goes by the thread that
	// started it, which has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	command := exec.CommandContext(ctx, c.binary, c.args...)
	command.Env = c.env
	command.Stdout = log
	if c.show != nil {
		command.Stdout = io.MultiWriter(log, c.show)
	}
	command.Stderr = command.Stdout
	command.SysProcAttr = childAttributes()
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	if err := command.Start(); err != nil {
		return err
	}
	c.started <- command.Process.Pid
	err = command.Wait()
	switch {
	case ctx.Err() == nil && err == nil:
		return fmt.Errorf("exit status 0%s", c.lastWords())
	case ctx.Err() == nil:
		return fmt.Errorf("%w%s", err, c.lastWords())
	case err == nil || errors.Is(err, context.Canceled): // asked to end, and did so in order
		return nil
	default:
		return fmt.Errorf("it was asked to end and did not do so well: %w%s", err, c.lastWords())
	}
}

// lastWords are the last lines of the log, on lines of their own.
func (c *child) lastWords() string {
	if c.show != nil {
		return "" // shown already
	}
	text, err := os.ReadFile(c.log)
	if err != nil {
		return "\nits log cannot be read: " + err.Error()
	}
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" {
		return "\nit has written no log"
	}
	lines := strings.Split(trimmed, "\n")
	lines = lines[max(0, len(lines)-lastLogLines):]
	return "\nthe end of its log:\n  | " + strings.Join(lines, "\n  | ")
}
