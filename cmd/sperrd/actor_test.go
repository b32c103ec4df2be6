package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"testing"
)

func TestActor_is_the_user_or_else_its_number(t *testing.T) {
	t.Parallel()
	number := fmt.Sprint("cli:", os.Getuid())
	for _, c := range []struct {
		user *user.User
		err  error
		want string
	}{
		{&user.User{Username: "erika", Uid: "7"}, nil, "cli:erika"},
		{&user.User{Uid: "7"}, nil, number},
		{nil, errors.New("no name"), number},
	} {
		if got := actorOf(c.user, c.err); got != c.want {
			t.Errorf("%v, %v: %q; want %q", c.user, c.err, got, c.want)
		}
	}
}
