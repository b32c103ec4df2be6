package sperr

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/transaction"
)

// forgetTransactions deletes a group of operations whose retention is over. One whose
// order still owes an IFTSTA stays: its repetition must not be taken for another report.
// What is gone is still known from the order where it would be done twice otherwise.
func (s *Service) forgetTransactions(ctx context.Context) (more bool, err error) {
	at := s.now()
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := s.transactions.SettleAbandoned(ctx, tx, at); err != nil {
			return err
		}
		var expired []transaction.Expired
		var err error
		expired, more, err = s.transactions.Expired(ctx, tx, at)
		if err != nil || len(expired) == 0 {
			return err
		}
		var orders []uuid.UUID
		for _, e := range expired {
			if e.OrderID != uuid.Nil {
				orders = append(orders, e.OrderID)
			}
		}
		owing, err := s.repo.owing(ctx, tx, orders)
		if err != nil {
			return err
		}
		var forget, keep []string
		for _, e := range expired {
			if owing[e.OrderID] {
				keep = append(keep, e.LogicalID)
			} else {
				forget = append(forget, e.LogicalID)
			}
		}
		if err := s.transactions.Postpone(ctx, tx, keep, at); err != nil {
			return err
		}
		return s.transactions.Forget(ctx, tx, forget)
	})
	return more, err
}
