package outbox_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/bezoar-dev/bezoar/outbox"
)

// An event is delivered if and only if the order is stored.
func ExampleWrite() {
	var db *sql.DB // of the application
	place := func(ctx context.Context, number string, order []byte) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, `INSERT INTO orders (number, content) VALUES ($1, $2)`, number, order); err != nil {
			return err
		}
		if err := outbox.Write(ctx, outbox.SQL(tx), outbox.Event{Topic: "orders.placed", Key: number, Payload: order}); err != nil {
			return err
		}
		return tx.Commit()
	}
	_ = place
}

// What is wrong with an event is said all at once, before anything is written.
func ExampleEvent_Validate() {
	err := outbox.Event{Topic: "orders placed", Headers: map[string]string{"": "x"}}.Validate()
	fmt.Println(err)
	// Output:
	// Topic: "orders placed" must have 1 to 255 letters, digits, dots, dashes and underscores
	// Headers: "": the name must not be empty; name and value must be UTF-8 without zero bytes
}
