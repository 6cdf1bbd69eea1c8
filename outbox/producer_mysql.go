package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
)

// MySQL wraps a database/sql transaction with a driver for MySQL or MariaDB.
//
// InnoDB may end a transaction with error 1213 (deadlock). This happens between
// transactions that write events of several keys in more than one call of [Write], and
// occasionally between a transaction and the relay. The application must then repeat the
// transaction.
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
