package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/alecthomas/kong"
)

// options are the switches of the sandbox. The texts are what -h prints.
type options struct {
	Once                bool       `help:"Tell the story and end: 0 if every answer was the expected one, else 1." xor:"length"`
	SkipStory           bool       `help:"Serve at once, without the story." xor:"length"`
	Sperrd              string     `help:"The sperrd to run. Without it one is built with 'go build' from the source tree of the working directory." placeholder:"PATH" type:"path"`
	Verbose             bool       `short:"v" help:"Show sperrd's own log here instead of leaving it in its file."`
	Data                string     `help:"Keep PostgreSQL's data in this folder from run to run; for root it must lie where the user postgres may go. Without it nothing stays." placeholder:"DIR" type:"path" xor:"server"`
	DatabaseURL         string     `name:"database-url" help:"Make a new database on this PostgreSQL, dropped at the end, instead of starting a private server." placeholder:"URL" xor:"server"`
	MakodFault          string     `help:"What makod does in the one part of the story in which it fails: ${enum}." enum:"down,drop,error,busy,hang" default:"down"`
	IdempotencyRequired bool       `help:"Let sperrd take no changing call without transactionId or Idempotency-Key. The story makes such calls: only together with --skip-story."`
	Port                portNumber `help:"Port of sperrd. Without it 8780, or a free one if that is taken." placeholder:"N"`
	MakodPort           portNumber `help:"Port of the simulated makod, on loopback. Without it 8781, or a free one." placeholder:"N"`
	ERPPort             portNumber `name:"erp-port" help:"Port of the simulated ERP, on loopback. Without it 8783, or a free one." placeholder:"N"`
	AdminPort           portNumber `help:"Port of the sandbox's own endpoints, on loopback. Without it 8782, or a free one." placeholder:"N"`
	IssuerPort          portNumber `help:"Port of the OIDC provider, on loopback. Without it 8784, or a free one." placeholder:"N"`
}

const description = `The neighbourhood of sperrd on one machine: PostgreSQL, a simulated makod and ERP, an OIDC provider, and sperrd itself.
It plays a day of a Netzbetreiber against them, checks every answer, and then serves until Ctrl-C.
Nothing leaves this machine. sperrd listens on all its addresses, but does nothing without a secret of this run or a
token of the OIDC provider, which only this machine can reach. Its accounts are made up, each with the secret "sandbox":

  disponent       reports for this Netzbetreiber and may do everything (role NB)
  kollege         may do as much (role NB), but repeats no call of the disponent's: 409
  lieferant       has the role LF: 403
  fremder-nb      belongs to another Netzbetreiber: 403
  ohne-audience   gets tokens for another service, as from a Keycloak without an audience mapper: 401

The sandbox's own endpoints, for playing the market and the ERP while it serves:

  POST /spawn?pid=17115|17117    a Lieferant orders: a process in makod, and its signed event to sperrd
  POST /makod/fault?kind=KIND    how makod answers from now on: none, down, drop, lost, error, busy, hang
  POST /erp/fault?kind=KIND      how the ERP answers from now on: none, busy (503, Retry-After 2 s), refuse (422,
                                 which makes dead letters), down (502) or hang, after which sperrd waits longer
  GET  /iftsta                   what the Lieferanten know: every IFTSTA 21039 of makod
  GET  /erp/events               what the ERP knows: every event it has taken, in order`

// portNumber is a port that was asked for; 0: none was.
type portNumber int

// UnmarshalText reads what stands behind a switch, which the parser names in the error.
func (p *portNumber) UnmarshalText(text []byte) error {
	const highest = 65535
	number, err := strconv.Atoi(string(text))
	if err != nil || number < 1 || number > highest {
		return fmt.Errorf("%q is no port, which is a number from 1 to %d", text, highest)
	}
	*p = portNumber(number)
	return nil
}

// errStoryWithoutIDs refuses a story that would end at its first call without ids.
var errStoryWithoutIDs = errors.New("--idempotency-required needs --skip-story: the story also makes calls without transactionId and Idempotency-Key, which sperrd would refuse")

// errHelp tells that the command line asked for help, which has been printed.
var errHelp = errors.New("help was asked for")

// parse reads the command line. A switch that cannot be is an error.
func parse(args []string, stdout, stderr io.Writer) (options, error) {
	var o options
	helped := false
	parser, err := kong.New(&o,
		kong.Name("sandbox"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		// Called after -h alone; it returns, and Parse goes on.
		kong.Exit(func(int) { helped = true }),
	)
	if err != nil {
		return options{}, err
	}
	_, err = parser.Parse(args)
	switch {
	case helped:
		return options{}, errHelp
	case err == nil && o.IdempotencyRequired && !o.SkipStory:
		return options{}, errStoryWithoutIDs
	}
	return o, err
}
