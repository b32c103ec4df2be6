package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// IsUnavailable reports whether err, which came out of work on the database,
// means that the database is in trouble and the same work may succeed later: no
// connection to be had, a connection that broke, a timeout, a deadlock, a
// server that stops or has become a standby. It is false for what repeating
// does not cure, such as a violated constraint, and for work that the caller
// himself cancelled.
//
// After a connection broke during a commit nobody knows whether it happened, so
// the repeated work must be able to recognise itself.
func IsUnavailable(err error) bool {
	var connectErr *pgconn.ConnectError
	if errors.As(err, &connectErr) {
		return true
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return isPassing(pgErr.Code)
	}
	if errors.Is(err, context.Canceled) {
		return false
	}
	var netErr net.Error
	return errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, puddle.ErrClosedPool) ||
		errors.Is(err, driver.ErrBadConn) || // of Migrator, which works through database/sql
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &netErr) ||
		pgconn.SafeToRetry(err)
}

// isPassing reports whether a SQLSTATE stands for a state of the server that
// passes, rather than for a fault in the statement or its data.
func isPassing(code string) bool {
	switch code {
	case "57014", // query_canceled: statement_timeout
		"57P01", "57P02", "57P03", "57P05", // shutdown, crash, starting up, idle session ended
		"55P03",          // lock_not_available: lock_timeout
		"40001", "40P01", // serialization failure, deadlock
		"25P03", // idle_in_transaction_session_timeout
		"25006": // read-only: the server has become a standby
		return true
	}
	if len(code) < 2 {
		return false
	}
	switch code[:2] {
	case "08", "53", "58": // connection exception, insufficient resources, system error
		return true
	}
	return false
}
