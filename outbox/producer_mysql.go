package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
)

// MySQL is a transaction of database/sql with a driver for MySQL or MariaDB.
//
// Transactions of InnoDB may wait for each other: two that write events of several keys
// in more than one call of [Write], and now and then one and the relay. The server then
// ends one of them with error 1213, and the application begins it again.
func MySQL(tx *sql.Tx) Tx {
	return Tx{write: func(ctx context.Context, schema string, events []Event) error {
		for _, e := range events {
			headers := []byte("{}")
			if len(e.Headers) > 0 {
				var err error
				if headers, err = json.Marshal(e.Headers); err != nil {
					return err
				}
			}
			payload := e.Payload
			if payload == nil {
				payload = []byte{}
			}
			if _, err := tx.ExecContext(ctx, `CALL `+schema+`_write(?, ?, ?, ?, ?, ?)`, e.Topic, e.Key, e.Type, string(headers), payload, e.ID); err != nil {
				return err
			}
		}
		return nil
	}}
}
