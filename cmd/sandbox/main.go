// Command sandbox runs the whole neighbourhood of sperrd on one machine and plays
// a day of a Netzbetreiber in it: orders arrive as signed events, the field team
// reports with a token of an OIDC provider, others are refused, makod and the ERP fail
// and recover, and in the end the Lieferant and the ERP know what they are owed. Every
// line it prints comes from a real answer, and an answer that is not the expected one
// ends it.
//
// story.go is the day, told in the chapters of day.go, field.go, access.go, repeats.go
// and outages.go;
// neighbourhood.go puts up and takes down what it needs, issuer.go the OIDC provider.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sperrd/internal/werktag"
)

func main() {
	// The OIDC library logs each request that it refuses, which is no trouble of the
	// sandbox's. An error of its own it still tells.
	slog.SetLogLoggerLevel(slog.LevelError)
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // a second signal ends the process at once
		cancel()
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program without its process: it returns the exit code, and when it
// returns everything it started has ended. The end of ctx is how a person stops
// the sandbox.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout, stderr)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "sandbox: %v (-h shows the switches)\n", err)
		return 2
	}
	if err := play(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "\nsandbox: %v\n", err)
		return 1
	}
	return 0
}

// play puts the neighbourhood up, tells the story and serves until ctx ends, or as much
// of it as was asked for.
func play(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := &neighbourhood{options: o, stdout: stdout, stderr: stderr, fail: cancel}
	defer func() { err = errors.Join(err, n.stop()) }()
	if err := n.start(ctx); err != nil {
		return because(ctx, err)
	}
	if !o.SkipStory {
		if err := newStory(n, werktag.BerlinDay(time.Now())).tell(ctx); err != nil {
			return because(ctx, err)
		}
	}
	if o.Once {
		return nil
	}
	if err := n.handOver(ctx); err != nil {
		return because(ctx, err)
	}
	<-ctx.Done()
	var died *endedError
	if errors.As(context.Cause(ctx), &died) {
		return died
	}
	fmt.Fprintln(stdout, "\nstopping")
	return nil
}

// because returns the reason for which ctx ended, if it has: a step that fails
// when a neighbour has died, or when a person has pressed Ctrl-C, fails for that.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
