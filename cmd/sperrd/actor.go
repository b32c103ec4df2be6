package main

import (
	"os"
	"os/user"
	"strconv"

	"sperrd/internal/sperr"
)

// commandActor is who does what a command does, for the history of the order.
func commandActor() string { return actorOf(user.Current()) }

// actorOf names the user or, where the system has no name for it (a container whose
// user stands in no /etc/passwd), its number.
func actorOf(u *user.User, err error) string {
	if err != nil || u.Username == "" {
		return sperr.ActorCLI + strconv.Itoa(os.Getuid())
	}
	return sperr.ActorCLI + u.Username
}
