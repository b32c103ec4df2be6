package main

import (
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"sperrd/internal/postgres/postgrestest"
)

// childVariable makes the test binary be sperrd: tests start it again as a child
// where a signal or an environment of its own is at stake.
const childVariable = "SPERRD_TEST_BE_SPERRD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		go endWithParent()
		main()
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	code := postgrestest.Run(m)
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// endWithParent ends a child whose parent is gone, however that happened: the
// parent holds the other end of stdin.
func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(3)
}
