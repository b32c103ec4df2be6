package postgres

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/golang-migrate/migrate/v4/source"
	"github.com/golang-migrate/migrate/v4/source/iofs"
)

// file is one migration: its version and the names of its two files.
type file struct {
	version  int
	up, down string
}

// files are the known migrations, oldest first.
type files []file

// readFiles lists the migrations at the top of fsys; other files are ignored.
func readFiles(fsys fs.FS) (files, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("list the migrations: %w", err)
	}
	byVersion := map[int]file{}
	for _, entry := range entries {
		parsed, err := source.DefaultParse(entry.Name())
		if err != nil || entry.IsDir() {
			continue
		}
		f := byVersion[int(parsed.Version)]
		f.version = int(parsed.Version)
		if parsed.Direction == source.Up {
			f.up = entry.Name()
		} else {
			f.down = entry.Name()
		}
		byVersion[f.version] = f
	}
	var known files
	for _, f := range byVersion {
		known = append(known, f)
	}
	slices.SortFunc(known, func(a, b file) int { return a.version - b.version })
	return known, nil
}

// newest is the highest known version, 0 without any.
func (f files) newest() int {
	if len(f) == 0 {
		return 0
	}
	return f[len(f)-1].version
}

// after returns the migrations beyond version.
func (f files) after(version int) files {
	for i := range f {
		if f[i].version > version {
			return f[i:]
		}
	}
	return nil
}

// before returns the highest version below version, 0 without any.
func (f files) before(version int) int {
	previous := 0
	for i := range f {
		if f[i].version < version {
			previous = f[i].version
		}
	}
	return previous
}

// find returns the migration of exactly this version.
func (f files) find(version int) (file, bool) {
	i := slices.IndexFunc(f, func(f file) bool { return f.version == version })
	if i < 0 {
		return file{}, false
	}
	return f[i], true
}

// markingSource hands the files to golang-migrate and lets each of them clear
// the mark "dirty" as its own last statement. All statements of a file reach
// the server as one message and so are one transaction: a mark that is still
// there proves that nothing of the file is.
type markingSource struct {
	source.Driver
	clear string
}

func newMarkingSource(fsys fs.FS, schema string) (source.Driver, error) {
	driver, err := iofs.New(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return markingSource{driver, "\n;UPDATE " + versionTable(schema) + " SET dirty = false;"}, nil
}

// ReadUp returns the file that leads to version.
func (m markingSource) ReadUp(version uint) (io.ReadCloser, string, error) {
	return m.mark(m.Driver.ReadUp(version))
}

// ReadDown returns the file that leads back from version.
func (m markingSource) ReadDown(version uint) (io.ReadCloser, string, error) {
	return m.mark(m.Driver.ReadDown(version))
}

func (m markingSource) mark(body io.ReadCloser, title string, err error) (io.ReadCloser, string, error) {
	if err != nil {
		return nil, "", err
	}
	marked := struct {
		io.Reader
		io.Closer
	}{io.MultiReader(body, strings.NewReader(m.clear)), body}
	return marked, title, nil
}
