package postgres

import "fmt"

// DirtyError is a migration that was killed half-way. It is only returned under
// the migration lock, so no other replica is in the middle of it.
type DirtyError struct {
	Version int    // of the mark
	File    string // the file that was running, empty if this version of sperrd does not know it
	Repair  string // SQL that puts the mark right after an interrupted Up
	// RepairDown is the SQL after an interrupted Down instead, with DownFile the
	// file that was running then. Both are empty where only Up is possible.
	RepairDown, DownFile string
}

// newDirtyError works out what a mark at version can mean: before it runs a
// file, golang-migrate records the version the file leads to.
func newDirtyError(known files, version int, schema string) *DirtyError {
	e := &DirtyError{Version: version}
	if f, ok := known.find(version); ok {
		e.File = f.up
		e.Repair = setVersion(schema, known.before(version))
	}
	if next := known.after(version); len(next) > 0 {
		e.DownFile = next[0].down
		e.RepairDown = setVersion(schema, next[0].version)
	}
	return e
}

// setVersion is the SQL that records version as applied; 0 is no row at all.
func setVersion(schema string, version int) string {
	if version == 0 {
		return "DELETE FROM " + versionTable(schema) + ";"
	}
	return fmt.Sprintf("UPDATE %s SET version = %d, dirty = false;", versionTable(schema), version)
}

// Error says what happened and gives the SQL that repairs it.
func (e *DirtyError) Error() string {
	const why = "nobody is running it now. Each file runs in one transaction, so nothing of it has stayed in the database. "
	up := fmt.Sprintf("migration %s was interrupted: the schema is marked dirty at version %d and %sTo repair, run: %s Then start again.",
		e.File, e.Version, why, e.Repair)
	switch {
	case e.File == "" && e.RepairDown == "":
		return fmt.Sprintf("migration %d was interrupted: the schema is marked dirty and nobody is running it now. "+
			"This version of sperrd does not know that migration: start the newer one, which says how to repair it.", e.Version)
	case e.File == "":
		return fmt.Sprintf("taking back with %s was interrupted: the schema is marked dirty at version %d and %sTo repair, run: %s Then start again.",
			e.DownFile, e.Version, why, e.RepairDown)
	case e.RepairDown == "":
		return up
	}
	return fmt.Sprintf("%s If it was \"migrate down\" with %s that was interrupted, run instead: %s", up, e.DownFile, e.RepairDown)
}
