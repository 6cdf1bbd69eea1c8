package cdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// CaptureConfig says which tables become events of which outbox.
type CaptureConfig struct {
	Config
	Schema string // of the outbox
	Tables []Table

	// CopyOnLoss copies the tables again when the slot is lost. What was deleted
	// meanwhile is not told. Without it the capture stops, until [CaptureConfig.Reset].
	CopyOnLoss bool
	Rows       int           // changes that are written in one transaction; 0: 1,000
	Linger     time.Duration // how long a change waits for others; 0: 20 ms
	// Waiting is how many events may wait in the outbox before reading pauses, and
	// the server keeps the WAL instead. 0: 1,000,000
	Waiting int
	// Retry is how long a capture that failed waits; 0: 5 s
	Retry time.Duration
}

// Table says how changes of a table become events. Topic, Key and Type are
// templates: {schema}, {table}, {op} (insert, update, delete or snapshot), {key} (the
// values of the primary key, with colons between) and {row.COLUMN} stand for what they say.
type Table struct {
	Name  string   // orders, or schema.orders
	Topic string   // "": {schema}.{table}
	Key   string   // "": {key}
	Type  string   // "": {table}.{op}
	Omit  []string // columns that no event has
	Copy  bool     // the rows that are there at first become events too, with the op snapshot
}

func (c CaptureConfig) withDefaults() CaptureConfig {
	c.Config = c.Config.withDefaults()
	if c.Rows == 0 {
		c.Rows = 1000
	}
	if c.Linger == 0 {
		c.Linger = 20 * time.Millisecond
	}
	if c.Waiting == 0 {
		c.Waiting = 1_000_000
	}
	if c.Retry == 0 {
		c.Retry = 5 * time.Second
	}
	return c
}

// Validate reports every field that is out of bounds.
func (c CaptureConfig) Validate() error {
	faults := []error{c.Config.Validate()}
	if !validName(c.Schema) {
		faults = append(faults, fmt.Errorf("Schema: %.80q is not 1 to 63 of a-z, 0-9 and _", c.Schema))
	}
	if c.Rows < 0 || c.Rows > 5000 { // each may lock a key
		faults = append(faults, fmt.Errorf("Rows: %d is not from 1 to 5000", c.Rows))
	}
	if c.Linger < 0 || c.Waiting < 0 || c.Retry < 0 {
		faults = append(faults, errors.New("Linger, Waiting, Retry: negative"))
	}
	if len(c.Tables) == 0 {
		faults = append(faults, errors.New("Tables: missing"))
	}
	seen := map[table]bool{}
	for i, t := range c.Tables {
		p, err := t.parse()
		if err != nil {
			faults = append(faults, fmt.Errorf("Tables[%d].%w", i, err))
		}
		if seen[p.table] {
			faults = append(faults, fmt.Errorf("Tables[%d].Name: %s is there twice", i, p.table))
		}
		if p.schema == c.Schema {
			faults = append(faults, fmt.Errorf("Tables[%d].Name: %s is in the schema of the outbox", i, p.table))
		}
		seen[p.table] = true
	}
	return errors.Join(faults...)
}

// plan is a [Table] as it is used.
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
		if f.text == "" {
			f.text = f.usual
		}
		if *f.to, err = parseTemplate(f.text); err != nil {
			return p, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return p, nil
}

// Capture writes the changes of tables into an outbox of the same database, each
// one once. Of several processes that capture the same, one works.
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

// brokenError is a fault that trying again does not mend.
type brokenError struct{ reason string }

func (e *brokenError) Error() string { return e.reason }

// errElsewhere is no fault: another process does the work.
var errElsewhere = errors.New("another process captures these tables")

// Run captures until ctx ends. It tries again after a failure, and says meanwhile by
// Status what is wrong.
func (c *Capture) Run(ctx context.Context) error {
	said := "" // the last fault that was logged as one for people
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
				c.reader.c.Log.Error("changes of tables are not captured", "slot", c.c.Slot, "reason", broken.reason)
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
	// The lock lasts as long as the connection.
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
	// What is confirmed has to be on the disk.
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

// publication is what the tables need.
func (c CaptureConfig) publication(plans map[table]*plan) publication {
	p := publication{name: c.Publication, publish: "insert, update, delete"}
	for t := range plans {
		p.tables = append(p.tables, t)
	}
	slices.SortFunc(p.tables, func(a, b table) int { return strings.Compare(a.String(), b.String()) })
	return p
}
