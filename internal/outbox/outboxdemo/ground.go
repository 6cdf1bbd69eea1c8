package outboxdemo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver for PostgreSQL
	_ "modernc.org/sqlite"             // the driver for SQLite

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb"
	"github.com/bezoar-dev/bezoar/outbox"
)

// ground is the database of one way, with an empty table of orders and an outbox.
type ground struct {
	db     *sql.DB
	url    string
	schema string
	dir    string // directory of the SQLite file; removed at the end
}

// demoSchema is the schema of the demonstration's outbox in a user's database.
const demoSchema = "bezoar_demo_outbox"

// open creates the tables.
func (c Config) open(ctx context.Context) (_ *ground, err error) {
	g := &ground{url: c.Database, schema: demoSchema}
	if g.url == "" {
		if g.dir, err = os.MkdirTemp("", "bezoar-demo-"); err != nil {
			return nil, fmt.Errorf("create a directory: %w", err)
		}
		g.url = "sqlite:" + filepath.Join(g.dir, "shop.db")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	if g.db, err = openShop(g.url); err != nil {
		return nil, err
	}
	if err := g.drop(ctx); err != nil { // left behind by a killed demonstration
		return nil, err
	}
	if _, err := g.db.ExecContext(ctx, createOrders); err != nil {
		return nil, fmt.Errorf("create the table of orders: %w", err)
	}
	_, err = outboxdb.Init(ctx, g.url, outboxdb.Config{Schema: g.schema})
	return g, err
}

// openShop opens the application's database.
func openShop(at string) (*sql.DB, error) {
	path, ok := strings.CutPrefix(at, "sqlite:")
	if !ok {
		db, err := sql.Open("pgx", at)
		if err != nil {
			return nil, errors.New("the database's URL cannot be read") // the error may contain the password
		}
		return db, nil
	}
	options := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(10000)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+path+"?"+options.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// drop removes the demonstration's tables from a user's database.
func (g *ground) drop(ctx context.Context) error {
	if g.dir != "" {
		return nil
	}
	for _, statement := range []string{`DROP TABLE IF EXISTS demo_orders`, `DROP SCHEMA IF EXISTS ` + g.schema + ` CASCADE`} {
		if _, err := g.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (g *ground) close() error {
	var err error
	if g.db != nil {
		err = errors.Join(g.drop(context.Background()), g.db.Close())
	}
	if g.dir != "" {
		err = errors.Join(err, os.RemoveAll(g.dir))
	}
	return err
}

// left counts the events that the outbox has not recorded as delivered.
func (g *ground) left(ctx context.Context) int {
	table := g.schema + "_pending"
	if g.dir == "" {
		table = g.schema + ".pending"
	}
	var n int
	if err := g.db.QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		return 1 // the database is busy
	}
	return n
}

// writeEvent writes an event in the transaction that writes its order.
func (t task) writeEvent(ctx context.Context, tx *sql.Tx, e event) error {
	payload := fmt.Appendf(nil, `{"order": %d}`, e.Order)
	in := outbox.SQL(tx)
	if strings.HasPrefix(t.Database, "sqlite:") {
		in = outbox.SQLite(tx)
	}
	return outbox.Write(ctx, in.In(t.Schema), outbox.Event{ID: e.ID, Topic: topic, Key: e.Customer, Type: "order.placed", Payload: payload})
}

const topic = "orders"
