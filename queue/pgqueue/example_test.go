package pgqueue_test

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/queue/pgqueue"
)

// A message is sent if and only if the order is stored.
func Example() {
	var conn *pgx.Conn // of the application
	place := func(ctx context.Context, queues *pgqueue.Sender, order []byte) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO orders (content) VALUES ($1)`, order); err != nil {
				return err
			}
			_, err := queues.Send(ctx, tx, "invoices", queue.SendInput{Body: order})
			return err
		})
	}
	_ = place
}
