package mysql

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/tables"
	"github.com/bezoar-dev/bezoar/outbox"
)

//go:embed schema.sql
var schemaSQL string

// Config selects the database.
type Config struct {
	// URL is mysql://user:password@host:port/database?parameter=value. The parameters are
	// those of github.com/go-sql-driver/mysql, such as tls=true.
	URL    string
	Schema string // default [tables.DefaultSchema]
}

// String returns the configuration without the password.
func (c Config) String() string {
	return fmt.Sprintf("{URL:%s Schema:%s}", redact.Text(c.URL, redact.Hidden), c.Schema)
}

// LogValue returns the configuration without the password.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Validate returns an error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	if _, err := c.driver(); err != nil {
		errs = append(errs, fmt.Errorf("URL: %w", err))
	}
	if c.Schema != "" {
		errs.In(tables.ValidSchema(c.Schema), "Schema")
	}
	return errors.Join(errs...)
}

// driver parses the URL. Its errors do not contain the password.
func (c Config) driver() (*driver.Config, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, errors.New("cannot be read; want mysql://user:password@host:port/database, the password percent-encoded")
	}
	name := strings.Trim(u.Path, "/")
	if u.Scheme != "mysql" && u.Scheme != "mariadb" {
		return nil, errors.New("does not begin with mysql://")
	}
	if u.Hostname() == "" || name == "" || strings.Contains(name, "/") {
		return nil, errors.New("names no host or no database; want mysql://user:password@host:port/database")
	}
	m, err := driver.ParseDSN("/?" + u.RawQuery)
	if err != nil {
		return nil, errors.New("its parameters cannot be read; they are those of the Go driver for MySQL")
	}
	port := u.Port()
	port = cmp.Or(port, "3306")
	m.User, m.Net, m.Addr, m.DBName = u.User.Username(), "tcp", u.Hostname()+":"+port, name
	if strings.Contains(u.Hostname(), ":") {
		m.Addr = "[" + u.Hostname() + "]:" + port
	}
	m.Passwd, _ = u.User.Password()
	m.InterpolateParams, m.ClientFoundRows = true, true
	m.Timeout = cmp.Or(m.Timeout, 5*time.Second)
	m.Logger = &driver.NopLogger{} // the driver's log repeats its errors
	return m, nil
}

// SQL returns the statements that create an outbox whose table names begin with schema, for
// the clients mysql and mariadb.
func SQL(schema string) (string, error) { return tables.Fill(schemaSQL, schema) }

// statements splits the text into single statements, as a client would.
func statements(text string) (all []string) {
	before, procedure, _ := strings.Cut(text, "DELIMITER ;;\n")
	for part := range strings.SplitSeq(before, ";\n") {
		var lines []string
		for line := range strings.Lines(part) {
			if !strings.HasPrefix(line, "--") {
				lines = append(lines, line)
			}
		}
		if s := strings.TrimSpace(strings.Join(lines, "")); s != "" {
			all = append(all, s)
		}
	}
	procedure, _, _ = strings.Cut(procedure, ";;\n")
	return append(all, procedure)
}

// Init creates the outbox, or upgrades it to the current version.
func Init(ctx context.Context, c Config) error {
	const what = "create the outbox"
	text, err := SQL(c.Schema)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	db, m, err := open(c)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer db.Close() //nolint:errcheck // what was written is committed
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("%s in %s: %w", what, where(m), explain(m, err))
	}
	defer conn.Close() //nolint:errcheck // likewise
	if err := initOn(ctx, conn, c, text); err != nil {
		return fmt.Errorf("%s in %s: %w", what, where(m), explain(m, err))
	}
	return nil
}

func initOn(ctx context.Context, conn *sql.Conn, c Config, text string) error {
	schema := c.Schema
	schema = cmp.Or(schema, tables.DefaultSchema)
	// Only one process may create or upgrade an outbox at a time, and no process may
	// downgrade it.
	var locked sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 60)`, "bezoar outbox "+schema).Scan(&locked); err != nil {
		return err
	}
	if locked.Int64 != 1 {
		return errors.New("another process has been creating it for 60 s")
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, "bezoar outbox "+schema) //nolint:errcheck // it ends with the connection, too
	var version int
	err := conn.QueryRowContext(ctx, `SELECT version FROM `+schema+`_meta`).Scan(&version)
	if err == nil && version > tables.Version {
		return fmt.Errorf("the outbox has version %d, of a later Bezoar; this program supports version %d", version, tables.Version)
	}
	for _, s := range statements(text) {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func open(c Config) (*sql.DB, *driver.Config, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	m, err := c.driver()
	if err != nil {
		return nil, nil, err
	}
	connector, err := driver.NewConnector(m)
	if err != nil {
		return nil, nil, err
	}
	return sql.OpenDB(connector), m, nil
}

// Open connects to an existing outbox. It returns [outbox.ErrAbsent] if there is none.
func Open(ctx context.Context, c Config) (*tables.Store, error) {
	db, m, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	if db, err = limited(ctx, db, m); err != nil {
		return nil, fmt.Errorf("open the outbox in %s: %w", where(m), explain(m, err))
	}
	const connections, idle = 8, time.Minute
	db.SetMaxOpenConns(connections)
	db.SetConnMaxIdleTime(idle)
	schema := c.Schema
	schema = cmp.Or(schema, tables.DefaultSchema)
	return tables.New(ctx, tables.Config{Writer: db, Reader: db, Schema: schema, Where: where(m), Dialect: tables.Dialect{
		Now: clock, Lane: `CAST(CONV(LEFT(SHA1(CONCAT(c.topic, ' ', c.k)), 15), 16, 10) AS SIGNED)`, Share: " LOCK IN SHARE MODE", Exclusive: " FOR UPDATE",
		Isolation: sql.LevelReadCommitted, Snapshot: sql.LevelRepeatableRead,
		Explain: func(err error) error { return explain(m, err) }, Again: again,
	}})
}

// limited returns a database whose server ends connections that idle inside a transaction;
// otherwise a relay that is stopped there would hold its locks. MariaDB supports this,
// MySQL does not.
func limited(ctx context.Context, db *sql.DB, m *driver.Config) (*sql.DB, error) {
	var version string
	if err := db.QueryRowContext(ctx, `SELECT VERSION()`).Scan(&version); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if !strings.Contains(version, "MariaDB") {
		return db, nil
	}
	m = m.Clone()
	if m.Params == nil {
		m.Params = map[string]string{}
	}
	m.Params["idle_transaction_timeout"] = "5" // seconds
	connector, err := driver.NewConnector(m)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return sql.OpenDB(connector), db.Close()
}

// clock returns the server's time.
const clock = `CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)`

func where(m *driver.Config) string { return "mysql://" + m.User + "@" + m.Addr + "/" + m.DBName }

// Numbers of errors: https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html
const (
	noSuchTable  = 1146
	lockTimeout  = 1205
	deadlock     = 1213
	badPassword  = 1045
	noDatabase   = 1049
	noRight      = 1142
	noRightHere  = 1044
	tooLong      = 1153
	noProcRights = 1370
)

func number(err error) uint16 {
	if e, ok := errors.AsType[*driver.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

// again reports whether the server rolled back a transaction in favour of another.
func again(err error) bool { return number(err) == deadlock || number(err) == lockTimeout }

// account returns the account that the server rejected, in the server's notation.
func account(m *driver.Config, err error) string {
	if found := regexp.MustCompile(`user ('[^']*'@'[^']*')`).FindStringSubmatch(err.Error()); found != nil {
		return found[1]
	}
	return "'" + m.User + "'"
}

func explain(m *driver.Config, err error) error {
	switch number(err) {
	case noSuchTable:
		return fmt.Errorf("%w: %w; create it with `bezoar outbox init`", outbox.ErrAbsent, err)
	case badPassword:
		return fmt.Errorf("%w; check the user and the password in the URL", err)
	case noDatabase:
		return fmt.Errorf("%w; the outbox must be in the database of the application that writes to it", err)
	case noRight, noRightHere, noProcRights:
		return fmt.Errorf("%w; the relay's user must read and write the outbox's tables, and `bezoar outbox init` must create them: "+
			"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE ROUTINE, ALTER ROUTINE ON `%s`.* TO %s", err, m.DBName, account(m, err))
	case tooLong:
		return fmt.Errorf("%w; set the server's max_allowed_packet to 32M", err)
	}
	return err
}
