package main

import "syscall"

// childAttributes lets the kernel end a process that has no line to this one when this one dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
