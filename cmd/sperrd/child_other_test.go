//go:build !linux

package main

import "syscall"

// childAttributes is nothing special here: only Linux ends a process when its parent dies.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
