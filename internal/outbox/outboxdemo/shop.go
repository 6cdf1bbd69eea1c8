package outboxdemo

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
)

// customers is the number of distinct keys of the events.
const customers = 50

func customerOf(order int) string { return fmt.Sprintf("customer-%02d", order%customers) }

// shop places orders one after another.
func (t task) shop(ctx context.Context) error {
	db, err := openShop(t.Database)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // what was written is committed
	to := sender{url: t.Place}
	for order := t.From; order <= t.To; order++ {
		if err := t.place(ctx, db, &to, order); err != nil {
			return fmt.Errorf("order %d: %w", order, err)
		}
	}
	return nil
}

// place writes one order and sends or writes its event.
func (t task) place(ctx context.Context, db *sql.DB, to *sender, order int) error {
	at := func(p Point) {
		if order == t.Crash && p == t.Point {
			dies()
		}
	}
	e := event{ID: "order-" + strconv.Itoa(order), Order: order, Customer: customerOf(order)}
	write := func(more func(*sql.Tx) error) error { return inTx(ctx, db, order, more) }
	send := func() error { return to.send(ctx, e) }
	first, second := func() error { return write(nil) }, send
	switch t.Way {
	case SendWrite:
		first, second = second, first
	case Outbox:
		first = func() error {
			return write(func(tx *sql.Tx) error {
				if err := t.writeEvent(ctx, tx, e); err != nil {
					return err
				}
				at(Before) // before the commit
				return nil
			})
		}
		second = func() error { return nil }
	}
	if t.Way != Outbox {
		at(Before)
	}
	if err := first(); err != nil {
		return err
	}
	at(Between)
	if err := second(); err != nil {
		return err
	}
	at(After)
	return nil
}

// inTx writes an order, and runs more, in one transaction.
func inTx(ctx context.Context, db *sql.DB, order int, more func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, insertOrder, order, customerOf(order)); err != nil {
		return err
	}
	if more != nil {
		if err := more(tx); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Both databases accept these statements.
const (
	createOrders = `CREATE TABLE demo_orders (number integer PRIMARY KEY, customer text NOT NULL)`
	insertOrder  = `INSERT INTO demo_orders (number, customer) VALUES ($1, $2)`
	selectOrders = `SELECT number FROM demo_orders`
	countOrders  = `SELECT count(*) FROM demo_orders`
)
