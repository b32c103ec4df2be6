package main

import "syscall"

// childAttributes put the child into a process group of its own, so that Ctrl-C in
// the terminal reaches this process alone, which ends its neighbours in order. If
// this one is killed, the kernel ends the child.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
