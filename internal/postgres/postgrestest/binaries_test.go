package postgrestest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeBinaries makes a folder with something called initdb and postgres.
func fakeBinaries(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInstalled_lists_the_newest_version_first(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	debian9 := fakeBinaries(t, filepath.Join(root, "postgresql/9.6/bin"))
	debian17 := fakeBinaries(t, filepath.Join(root, "postgresql/17/bin"))
	debian15 := fakeBinaries(t, filepath.Join(root, "postgresql/15/bin"))
	plain := fakeBinaries(t, filepath.Join(root, "opt/postgresql/bin"))
	brew18 := fakeBinaries(t, filepath.Join(root, "opt/postgresql@18/bin"))
	if err := os.MkdirAll(filepath.Join(root, "postgresql/16/bin"), 0o755); err != nil { // only a client
		t.Fatal(err)
	}
	got := installed([]string{filepath.Join(root, "postgresql/*/bin"), filepath.Join(root, "opt/postgresql*/bin")})
	want := []string{debian17, debian15, debian9, brew18, plain}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}

func TestOnPath_looks_behind_a_link(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir()) // a link itself on macOS
	if err != nil {
		t.Fatal(err)
	}
	fakeBinaries(t, real)
	links := t.TempDir()
	if err := os.Symlink(filepath.Join(real, "initdb"), filepath.Join(links, "initdb")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", links)
	if diff := cmp.Diff([]string{real}, onPath()); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}

func TestFindBinaries_passes_over_what_cannot_be_run(t *testing.T) {
	broken := t.TempDir()
	fakeBinaries(t, broken)
	if err := os.WriteFile(filepath.Join(broken, "postgres"), []byte("#!/bin/sh\necho no version set >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", broken)
	folders := binaryFolders
	t.Cleanup(func() { binaryFolders = folders })
	good := fakeBinaries(t, filepath.Join(t.TempDir(), "bin"))
	binaryFolders = []string{good}
	if got, err := findBinaries(t.Context(), account{}); err != nil || got != good {
		t.Errorf("findBinaries() = %s, %v, want %s", got, err, good)
	}
}
