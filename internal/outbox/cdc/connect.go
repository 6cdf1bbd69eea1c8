package cdc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errReadOnly rejects a standby if the URL names several servers.
var errReadOnly = errors.New("the server accepts no writes: it is a standby")

func writable(ctx context.Context, c *pgconn.PgConn) error {
	r := c.ExecParams(ctx, "SELECT pg_is_in_recovery()", nil, nil, nil, nil).Read()
	if r.Err != nil {
		return r.Err
	}
	if string(r.Rows[0][0]) == "t" {
		return errReadOnly
	}
	return nil
}

// connect opens a connection for SQL statements.
func (c Config) connect(ctx context.Context) (*pgx.Conn, error) {
	s, err := c.settings(false)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, s)
	return conn, nameThePooler(err)
}

// nameThePooler explains a pooler's error: PgBouncer rejects session settings because it
// shares sessions between clients.
func nameThePooler(err error) error {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || refused.Code != "08P01" || !strings.Contains(refused.Message, "unsupported startup parameter") {
		return err
	}
	return fmt.Errorf("the URL names a pooler, but CDC needs a direct connection: use the port of PostgreSQL itself: %w", err)
}

// replicate opens a connection for the commands of the replication protocol.
func (c Config) replicate(ctx context.Context) (*pgconn.PgConn, error) {
	s, err := c.settings(true)
	if err != nil {
		return nil, err
	}
	conn, err := pgconn.ConnectConfig(ctx, &s.Config)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "42501" { // REPLICATION is the only privilege that connecting needs
		return nil, fmt.Errorf("the role %s may not read the log: ALTER ROLE %s REPLICATION: %w", quoted(s.User), quoted(s.User), err)
	}
	if err != nil {
		return nil, nameThePooler(err)
	}
	return conn, nil
}

// closing limits the time to close a connection.
const closing = 2 * time.Second

type closer interface{ Close(context.Context) error }

func closeConn(c closer) {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	_ = c.Close(ctx) // the connection is no longer needed
}

// open starts reading the slot at position. 0: at the slot's own position.
func (c Config) open(ctx context.Context, position LSN) (*Stream, error) {
	c = c.withDefaults()
	conn, err := c.replicate(ctx)
	if err != nil {
		return nil, err
	}
	timeout, err := senderTimeout(ctx, conn)
	if err != nil {
		closeConn(conn)
		return nil, err
	}
	args := []string{"proto_version '1'", fmt.Sprintf("publication_names '%s'", c.Publication), "messages 'true'"}
	if c.binary {
		args = append(args, "binary 'true'")
	}
	err = pglogrepl.StartReplication(ctx, conn, c.Slot, position, pglogrepl.StartReplicationOptions{
		Mode: pglogrepl.LogicalReplication, PluginArgs: args,
	})
	if err != nil {
		closeConn(conn)
		return nil, fmt.Errorf("start replication from slot %s: %w", c.Slot, err)
	}
	raw, err := conn.Hijack()
	if err != nil {
		closeConn(conn)
		return nil, err
	}
	return newStream(c, raw, position, timeout), nil
}

// version returns the server's major version.
func version(c *pgconn.PgConn) int {
	n := 0
	for _, r := range c.ParameterStatus("server_version") {
		if r < '0' || r > '9' {
			break
		}
		n = n*10 + int(r-'0')
	}
	return n
}

// senderTimeout returns how long the server waits for a message from the reader. 0:
// forever.
func senderTimeout(ctx context.Context, c *pgconn.PgConn) (time.Duration, error) {
	rows, err := c.Exec(ctx, "SELECT setting FROM pg_settings WHERE name = 'wal_sender_timeout'").ReadAll()
	if err != nil {
		return 0, err
	}
	ms, err := strconv.Atoi(string(rows[0].Rows[0][0]))
	return time.Duration(ms) * time.Millisecond, err
}
