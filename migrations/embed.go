// Package migrations holds the schema of the database as golang-migrate files,
// embedded so that the binary brings its own schema. Each file is one
// transaction; its comments say what a column means.
package migrations

import "embed"

// FS holds the NNNN_title.up.sql and .down.sql files.
//
//go:embed *.sql
var FS embed.FS
