// Command sperrd is the work queue of a Netzbetreiber for Sperrungen and
// Entsperrungen: it takes the orders of the market in, serves them to the field
// team and reports the outcomes back.
//
// This package puts the parts together and does nothing else. It alone reads the
// arguments, the environment and the clock; every other package is given what it
// needs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"sperrd/internal/sperr"
)

// The exit codes of every command, health excepted.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // of the command line or the configuration: starting again cannot help
)

func main() {
	os.Exit(run(firstSignal(), process{
		args: os.Args[1:], lookupEnv: os.LookupEnv, stdout: os.Stdout, stderr: os.Stderr, now: time.Now,
	}))
}

// firstSignal is a context that ends at the first signal, which asks for an orderly
// end. Before anybody can see that it has ended, signals do again what they do to any
// program, so that a second one ends the process at once.
func firstSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
	return ctx
}

// process is what the operating system gives to a command. What was asked for
// goes to stdout, the log and all trouble to stderr.
type process struct {
	args           []string
	lookupEnv      func(string) (string, bool)
	stdout, stderr io.Writer
	now            func() time.Time
	configFlag     string // --config, set by run
}

// commandLine is the grammar of the arguments.
type commandLine struct {
	Config string `placeholder:"FILE" help:"Configuration file. Default: $SPERRD_CONFIG, else ./sperrd.toml."`

	Serve     serveCommand     `cmd:"" default:"withargs" help:"Serve until SIGTERM or SIGINT. The default command."`
	Migrate   migrateCommand   `cmd:"" help:"Change or show the schema of the database."`
	Check     checkCommand     `cmd:"" help:"Check the configuration and every neighbour."`
	IFTSTA    iftstaCommand    `cmd:"" name:"iftsta" help:"List outcomes that makod did not take, or let them be sent again."`
	Outbox    outboxCommand    `cmd:"" help:"List events that the ERP did not take, or let them be delivered again."`
	History   historyCommand   `cmd:"" help:"Show who did what to an order."`
	Frist     fristCommand     `cmd:"" help:"Explain Fristen day by day: from a day on, or those of an order."`
	Retention retentionCommand `cmd:"" help:"Show or replace address and free text of closed orders that are kept for long enough."`
	Health    healthCommand    `cmd:"" help:"Ask the service on this machine whether it is ready; for container probes."`
	Version   versionCommand   `cmd:"" help:"Print the version."`
}

// run is the whole program except for the exit. It returns the exit code once
// everything it started has ended; cancelling ctx is the request to stop.
func run(ctx context.Context, p process) int {
	var line commandLine
	helped := false
	parser, err := kong.New(&line,
		kong.Name("sperrd"),
		kong.Description("Work queue of a Netzbetreiber for Sperrungen and Entsperrungen."),
		kong.Vars{"fristArten": sperr.FristArtenText()},
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(int) { helped = true }), // kong exits after --help, which is not its business here
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&p),
	)
	if err != nil {
		return p.exitCode(err)
	}
	command, err := parser.Parse(p.args)
	switch {
	case helped:
		return exitOK
	case err != nil:
		return p.exitCode(usageError{fmt.Errorf("%w (sperrd --help shows what there is)", err)})
	}
	p.configFlag = line.Config
	return p.exitCode(command.Run())
}

// usageError is a mistake in the command line or in the configuration.
type usageError struct{ error }

// Unwrap returns what the mistake is.
func (e usageError) Unwrap() error { return e.error }

// errReported is a failure about which everything has been written already.
var errReported = errors.New("reported")

// exitCode says on stderr what went wrong and returns the code for it.
func (p process) exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, errReported) {
		_, _ = fmt.Fprintln(p.stderr, "sperrd:", err)
	}
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}
