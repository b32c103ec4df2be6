package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// version is set when a release is linked: -ldflags "-X main.version=v1.2.3".
var version string

// versionText is the version that was linked in, else what the Go toolchain knows
// about the sources.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return cmp.Or(info.Main.Version, "unknown")
}

// versionCommand prints the version.
type versionCommand struct{}

// Run prints one line.
func (versionCommand) Run(p *process) error {
	_, err := fmt.Fprintln(p.stdout, "sperrd", versionText())
	return err
}
