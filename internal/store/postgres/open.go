package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/tables"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/quota"
)

// connectTimeout limits one connection attempt if the URL sets no timeout.
const connectTimeout = 5 * time.Second

// DB is one schema with its stores.
type DB struct {
	pool   *pgxpool.Pool
	where  string // for errors; without the password
	schema string
	shared *shared
	ledger *ledgerStore
	queue  *queueStore
	live   *settingsStore
	flow   tables.Flow
}

// Open connects and upgrades the schema.
func Open(ctx context.Context, c Config) (*DB, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open the postgres store: %w", err)
	}
	c = c.withDefaults()
	settings, err := c.pool()
	if err != nil {
		return nil, err
	}
	db := &DB{where: where(settings.ConnConfig), schema: c.Schema}
	db.shared = newShared(db, c.Schema)
	if db.pool, err = pgxpool.NewWithConfig(ctx, settings); err != nil {
		return nil, fmt.Errorf("open the postgres store: %w", err)
	}
	if err := migrate(ctx, db.pool, c.Schema); err != nil {
		db.pool.Close()
		return nil, fmt.Errorf("open the postgres store: %w", explain(db.where, err))
	}
	db.queue = newQueueStore(db, c.Schema)
	db.ledger = newLedgerStore(db.shared, c.Schema, c.MaxLetters)
	db.flow = tables.Flow{DB: db.shared}
	db.live = &settingsStore{Settings: tables.Settings{DB: db.shared}, db: db, schema: c.Schema}
	if err := db.queue.prepare(ctx); err != nil {
		db.pool.Close()
		return nil, fmt.Errorf("open the postgres store: %w", err)
	}
	return db, nil
}

func (db *DB) Ledger() ledger.Store { return db.ledger }

func (db *DB) Queue() queue.Store { return db.queue }

func (db *DB) Flow() flow.Store { return db.flow }

func (db *DB) Live() live.Store { return db.live }

func (db *DB) Quota() quota.Store { return tables.Quota{DB: db.shared} }

// Close waits for connections in use and closes all connections.
func (db *DB) Close() error {
	db.pool.Close()
	return nil
}

func where(c *pgx.ConnConfig) string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
}

// inSchema replaces {schema} in a statement. Statements name the schema, because a
// search_path does not last behind a pooler.
func inSchema(schema, statement string) string {
	return strings.ReplaceAll(statement, "{schema}", schema)
}
