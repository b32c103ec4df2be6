package transaction

import "strings"

// KeyPrefix stands before an Idempotency-Key that is no UUID, so that the key of one
// caller is never the transactionId of another.
const KeyPrefix = "ik:"

// Shown is id as its caller knows it, for people and for the wire: without KeyPrefix.
func Shown(id string) string { return strings.TrimPrefix(id, KeyPrefix) }
