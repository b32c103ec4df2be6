package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

const (
	loopback     = "127.0.0.1"
	allAddresses = "" // where sperrd listens
)

// port is a port to listen on: the one asked for, else the usual one, else any.
type port struct {
	flag  string // names the switch in messages
	asked portNumber
	usual int
}

// listen opens the port on host. A port that was asked for by name is taken or it
// is an error; in place of a usual one that is in use any free one does, and say
// is told.
func (p port) listen(ctx context.Context, host string, say func(format string, args ...any)) (net.Listener, error) {
	if p.asked != 0 {
		listener, err := listenOn(ctx, host, int(p.asked))
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("port %d is in use; name another with %s, or leave it out and a free one is taken", p.asked, p.flag)
		}
		return listener, err
	}
	listener, err := listenOn(ctx, host, p.usual)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return listener, err
	}
	if listener, err = listenOnFree(ctx, host); err == nil {
		say("port %d is in use, taking %d", p.usual, portOf(listener))
	}
	return listener, err
}

// listenOnFree tries ports below those that the kernel gives to connections going
// out: sperrd opens its port itself, a moment after this one is closed, and
// nothing may slip in between.
func listenOnFree(ctx context.Context, host string) (listener net.Listener, err error) {
	const first, count, tries = 10_000, 10_000, 50
	for range tries {
		if listener, err = listenOn(ctx, host, first+rand.IntN(count)); err == nil {
			return listener, nil
		}
	}
	return nil, fmt.Errorf("no free port found: %w", err)
}

func listenOn(ctx context.Context, host string, number int) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(number)))
	if err != nil {
		return nil, fmt.Errorf("listen on port %d: %w", number, err)
	}
	return listener, nil
}

// portOf is the number of the port; every listener here is a TCP one.
func portOf(listener net.Listener) int {
	address, _ := listener.Addr().(*net.TCPAddr)
	return address.Port
}

// urlOf is the base URL under which a listener is reached on this machine.
func urlOf(number int) string { return fmt.Sprintf("http://%s:%d", loopback, number) }
