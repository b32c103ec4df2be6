// Package policies holds the Cedar policies of the service, embedded so that the
// binary brings the ones it was tested with.
package policies

import _ "embed"

// Sperrd is sperrd.cedar: who may do what.
//
//go:embed sperrd.cedar
var Sperrd []byte
