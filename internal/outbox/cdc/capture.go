package cdc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// CaptureConfig selects the tables whose changes become events, and their outbox.
type CaptureConfig struct {
	Config
	Schema string // of the outbox
	Tables []Table

	// CopyOnLoss copies the tables again when the slot is lost. Rows deleted in the
	// meantime produce no events. Without CopyOnLoss the capture stops until [Config.Reset]
	// is called.
	CopyOnLoss bool
	Rows       int           // maximum number of changes per transaction, up to 5000; 0: 1,000
	Linger     time.Duration // maximum wait for further changes before a transaction; 0: 20 ms
	// Waiting is the number of undelivered events in the outbox at which reading pauses.
	// The server then keeps the WAL. 0: 1,000,000
	Waiting int
	// Retry is the wait after a failure; 0: 5 s
	Retry time.Duration
}

// Table describes how changes of a table become events. Topic, Key and Type are templates
// with the placeholders {schema}, {table}, {op} (insert, update, delete or snapshot), {key}
// (the values of the primary key, joined by colons) and {row.COLUMN}.
type Table struct {
	Name  string   // orders, or schema.orders
	Topic string   // default {schema}.{table}
	Key   string   // default {key}
	Type  string   // default {table}.{op}
	Omit  []string // columns to leave out of events
	Copy  bool     // also create an event, with the op snapshot, for each row that exists at the start
}

func (c CaptureConfig) withDefaults() CaptureConfig {
	c.Config = c.Config.withDefaults()
	c.Rows = cmp.Or(c.Rows, 1000)
	c.Linger = cmp.Or(c.Linger, 20*time.Millisecond)
	c.Waiting = cmp.Or(c.Waiting, 1_000_000)
	c.Retry = cmp.Or(c.Retry, 5*time.Second)
	return c
}

// Validate returns one error that names every invalid field, or nil.
func (c CaptureConfig) Validate() error {
	errs := faults.List{c.Config.Validate()}
	errs.If(!validName(c.Schema), "Schema: %.80q must be 1 to 63 characters of a-z, 0-9 and _", c.Schema)
	if c.Rows < 0 || c.Rows > 5000 { // each change may lock a key
		errs = append(errs, fmt.Errorf("Rows: %d is not between 1 and 5000", c.Rows))
	}
	errs.If(c.Linger < 0 || c.Waiting < 0 || c.Retry < 0, "Linger, Waiting, Retry: negative")
	errs.If(len(c.Tables) == 0, "Tables: missing")
	seen := map[table]bool{}
	for i, t := range c.Tables {
		p, err := t.parse()
		errs.If(err != nil, "Tables[%d].%w", i, err)
		if seen[p.table] {
			errs = append(errs, fmt.Errorf("Tables[%d].Name: %s is listed twice", i, p.table))
		}
		if p.schema == c.Schema {
			errs = append(errs, fmt.Errorf("Tables[%d].Name: %s is in the schema of the outbox", i, p.table))
		}
		seen[p.table] = true
	}
	return errors.Join(errs...)
}

// plan is a [Table] with its templates parsed.
type plan struct {
	table
	topic, key, kind template
	omit             []string
	copy             bool
	primary          []string // columns of the primary key
}

func (t Table) parse() (p *plan, err error) {
	p = &plan{omit: t.Omit, copy: t.Copy}
	p.schema, p.name = "public", t.Name
	if schema, name, found := strings.Cut(t.Name, "."); found {
		p.schema, p.name = schema, name
	}
	if p.schema == "" || p.name == "" {
		return p, fmt.Errorf("Name: %.80q is not a table; want name or schema.name", t.Name)
	}
	for _, f := range []struct {
		name, text, usual string
		to                *template
	}{
		{"Topic", t.Topic, "{schema}.{table}", &p.topic},
		{"Key", t.Key, "{key}", &p.key},
		{"Type", t.Type, "{table}.{op}", &p.kind},
	} {
		f.text = cmp.Or(f.text, f.usual)
		if *f.to, err = parseTemplate(f.text); err != nil {
			return p, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return p, nil
}

// Capture writes the changes of tables into an outbox of the same database, each change
// once. If several processes capture the same slot, one works and the others wait.
type Capture struct {
	reader
	c     CaptureConfig
	plans map[table]*plan
}

// NewCapture checks c. It does not connect.
func NewCapture(c CaptureConfig) (*Capture, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	out := &Capture{reader: reader{c: c.Config, schema: c.Schema}, c: c, plans: map[table]*plan{}}
	for _, t := range c.Tables {
		p, err := t.parse()
		if err != nil {
			return nil, err
		}
		out.plans[p.table] = p
	}
	out.say(Starting, "")
	return out, nil
}

// brokenError is an error that retrying cannot fix.
type brokenError struct{ reason string }

func (e *brokenError) Error() string { return e.reason }

// errElsewhere means that another process does the work; it is not a failure.
var errElsewhere = errors.New("another process captures these tables")

// Run captures changes until ctx ends. It retries after failures; Status shows the current
// problem.
func (c *Capture) Run(ctx context.Context) error {
	said := "" // the last problem that was logged for an operator
	for {
		err := c.run(ctx)
		if ctx.Err() != nil {
			c.ended(ctx, err)
			return ctx.Err()
		}
		var broken *brokenError
		var pg *pgconn.PgError
		switch {
		case errors.Is(err, errElsewhere):
			c.say(Waiting, err.Error())
		case errors.As(err, &pg) && pg.Code == "55006": // the slot is in use
			c.say(Waiting, pg.Message)
		case errors.As(err, &broken):
			if said != broken.reason {
				c.reader.c.Log.Error("capturing changes of tables stopped", "slot", c.c.Slot, "reason", broken.reason)
				said = broken.reason
			}
			c.endedAs(ctx, Broken, broken.reason)
		default:
			c.reader.c.Log.Warn("capturing changes of tables failed; trying again", "slot", c.c.Slot, "in", c.c.Retry, "error", err)
			c.endedAs(ctx, Failing, err.Error())
		}
		select {
		case <-time.After(c.c.Retry):
		case <-ctx.Done():
		}
	}
}

func (c *Capture) run(ctx context.Context) error {
	conn, err := c.reader.c.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	var mine bool
	// The advisory lock lasts as long as the connection.
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended('bezoar cdc ' || $1, 0))", c.c.Slot).Scan(&mine); err != nil {
		return err
	}
	if !mine {
		return errElsewhere
	}
	writer, err := c.reader.c.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(writer)
	// Only durable changes may be confirmed.
	if _, err := writer.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"); err != nil {
		return err
	}
	at, err := c.prepare(ctx, conn, writer)
	if err != nil {
		return err
	}
	to := &captureReceiver{c: c, writer: writer, from: *at, next: *at}
	published := c.c.publication(c.plans)
	return c.read(ctx, conn, at.position, to, func(ctx context.Context, _ *Stream) error { return published.watch(ctx, conn) })
}

func (c CaptureConfig) publication(plans map[table]*plan) publication {
	tables := sorted.Collect(maps.Keys(plans), func(a, b table) int { return strings.Compare(a.String(), b.String()) })
	return publication{name: c.Publication, publish: "insert, update, delete", tables: tables}
}
