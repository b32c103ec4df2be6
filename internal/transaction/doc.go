// Package transaction recognises a call that comes again. A field device that has no
// answer repeats its call, and so does every market process; the act must happen once
// and each repetition must get the answer of the first one (API-Guideline of EDI@Energy:
// transactionId, initialTransactionId, referenceId).
//
// It owns the tables api_transactions, one row for each logical operation with its
// answer, and api_transaction_attempts, one row for each id by which an operation is
// known. It never touches an order and knows nothing of HTTP but a status and bytes.
//
// A record is written in the transaction of the change it belongs to: either both exist
// or neither. Of calls that run at the same time the primary key of the attempts lets
// one do the work; the others find its record, or that it is still under way.
package transaction
