//go:build unix

package main

import (
	"os"
	"syscall"
)

// otherReaders says who but the user of this process can read a file; empty for nobody. A
// file that belongs to somebody else reaches this process by its group, as the secrets
// that an orchestrator mounts do.
func otherReaders(info os.FileInfo) string {
	const everybody, group = 0o004, 0o040
	mode := info.Mode().Perm()
	stat, known := info.Sys().(*syscall.Stat_t)
	switch {
	case mode&everybody != 0:
		return "everybody on this machine"
	case mode&group != 0 && known && int(stat.Uid) == os.Geteuid():
		return "its group"
	}
	return ""
}
