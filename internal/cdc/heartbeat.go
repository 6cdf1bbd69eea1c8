package cdc

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const heartbeatPrefix = "bezoar.heartbeat"

// beat writes a message into the WAL at every heartbeat, until ctx ends or
// it fails. The message is not transactional: it takes no transaction ID and no row.
func (c Config) beat(ctx context.Context, conn *pgx.Conn) error {
	tick := time.NewTicker(c.Heartbeat)
	defer tick.Stop()
	for {
		if _, err := conn.Exec(ctx, "SELECT pg_logical_emit_message(false, $1, $2::text)", heartbeatPrefix, c.Slot); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
