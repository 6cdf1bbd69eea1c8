package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
)

// SQLite wraps a database/sql transaction with a driver for SQLite.
func SQLite(tx *sql.Tx) Tx {
	return Tx{write: func(ctx context.Context, schema string, events []Event) error {
		insert, err := tx.PrepareContext(ctx, `INSERT INTO `+schema+`_write (topic, key, type, headers, payload, id) VALUES (?, ?, ?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		defer insert.Close() //nolint:errcheck // its work is done
		for _, e := range events {
			headers := []byte("{}")
			if len(e.Headers) > 0 {
				if headers, err = json.Marshal(e.Headers); err != nil {
					return err
				}
			}
			if _, err := insert.ExecContext(ctx, e.Topic, e.Key, e.Type, string(headers), e.Payload, e.ID); err != nil {
				return err
			}
		}
		return nil
	}}
}
