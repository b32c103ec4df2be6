package postgrestest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
)

// binaryFolders are the places where packages put PostgreSQL without linking
// it into PATH: Debian, then Homebrew on Apple and on Intel machines.
var binaryFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
}

// findBinaries returns the folder of the first initdb and postgres that the
// account can run.
func findBinaries(ctx context.Context, account account) (string, error) {
	candidates := append(onPath(), installed(binaryFolders)...)
	if len(candidates) == 0 {
		return "", errors.New("no initdb and postgres on PATH or in /usr/lib/postgresql/*/bin")
	}
	var last error
	for _, dir := range candidates {
		if last = account.tryRun(ctx, dir); last == nil {
			return dir, nil
		}
	}
	return "", last
}

// onPath looks behind the link or the wrapper that PATH leads to, since initdb
// wants the postgres that stands beside it.
func onPath() []string {
	var dirs []string
	for _, name := range []string{"initdb", "postgres"} {
		found, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if resolved, err := filepath.EvalSymlinks(found); err == nil {
			dirs = append(dirs, filepath.Dir(resolved))
		}
		dirs = append(dirs, filepath.Dir(found))
	}
	return slices.DeleteFunc(dirs, lacksBinaries)
}

// installed lists the folders that match, those of the newest version first.
func installed(patterns []string) []string {
	var all []string
	for _, pattern := range patterns {
		dirs, _ := filepath.Glob(pattern) // the only error is a malformed pattern
		slices.SortStableFunc(dirs, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
		all = append(all, dirs...)
	}
	return slices.DeleteFunc(all, lacksBinaries)
}

var versionInPath = regexp.MustCompile(`postgresql[@/]([0-9]+)`)

// version is the major version that a folder is named after, 0 without one.
func version(dir string) int {
	match := versionInPath.FindStringSubmatch(dir)
	if match == nil {
		return 0
	}
	major, _ := strconv.Atoi(match[1])
	return major
}

func lacksBinaries(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return true
		}
	}
	return false
}

// account is who the cluster runs as: PostgreSQL refuses to run as root. The
// zero value is the caller.
type account struct {
	name       string
	credential *syscall.Credential
}

// unprivileged is the caller, or where that is root, the user of the installed
// PostgreSQL, or nobody.
func unprivileged() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseInt(found.Uid, 10, 64)
		gid, gidErr := strconv.ParseInt(found.Gid, 10, 64)
		if uidErr == nil && gidErr == nil { // -2 for nobody on macOS
			return account{name, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
		}
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")
}

// tryRun finds out whether the account can run the binaries at all: they may
// lie in the home folder of somebody else, or be a wrapper without a version.
func (a account) tryRun(ctx context.Context, dir string) error {
	binary := filepath.Join(dir, "postgres")
	command := exec.CommandContext(ctx, binary, "--version")
	command.Dir = "/"
	command.Env = environment("/")
	command.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot be run%s: %w: %s", binary, a.as(), err, output)
	}
	return nil
}

// prepare gives the account the working folder and the data folder, which by
// default is a part of it.
func (a account) prepare(dir, dataDir string) (data string, err error) {
	data = dir
	folders := []string{dir}
	if dataDir != "" {
		if data, err = filepath.Abs(dataDir); err != nil {
			return "", fmt.Errorf("data folder: %w", err)
		}
		if err := os.MkdirAll(data, 0o700); err != nil {
			return "", fmt.Errorf("data folder: %w", err)
		}
		folders = append(folders, data)
	}
	if a.credential == nil {
		return data, nil
	}
	for _, folder := range folders {
		if err := os.Chown(folder, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
			return "", fmt.Errorf("give the folder to the user %s: %w", a.name, err)
		}
	}
	return data, nil
}

func (a account) as() string {
	if a.name == "" {
		return ""
	}
	return " as the user " + a.name
}
