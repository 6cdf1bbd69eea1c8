package sqlguard_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/sqlguard"
)

// plain is a driver as they were before contexts: it can prepare, and no more.
// It writes down what reaches it.
type plain struct {
	mu  sync.Mutex // guards log: database/sql has goroutines of its own
	log []string
}

func (d *plain) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

func (d *plain) Open(string) (driver.Conn, error) { return &plainConn{d}, nil }

func (d *plain) take() (log []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	log, d.log = d.log, nil
	return log
}

type plainConn struct{ d *plain }

func (c *plainConn) Prepare(query string) (driver.Stmt, error) {
	c.d.note("prepare %s", query)
	return &plainStmt{c.d, query}, nil
}
func (c *plainConn) Close() error              { return nil }
func (c *plainConn) Begin() (driver.Tx, error) { return plainTx{c.d}, nil }

type plainTx struct{ d *plain }

func (t plainTx) Commit() error   { t.d.note("commit"); return nil }
func (t plainTx) Rollback() error { t.d.note("rollback"); return nil }

type plainStmt struct {
	d     *plain
	query string
}

func (s *plainStmt) Close() error  { return nil }
func (s *plainStmt) NumInput() int { return strings.Count(s.query, "?") }
func (s *plainStmt) Exec(args []driver.Value) (driver.Result, error) {
	s.d.note("exec %v", args)
	return driver.ResultNoRows, nil
}

func (s *plainStmt) Query(args []driver.Value) (driver.Rows, error) {
	s.d.note("query %v", args)
	return empty{}, nil
}

type empty struct{}

func (empty) Columns() []string         { return []string{"a"} }
func (empty) Close() error              { return nil }
func (empty) Next([]driver.Value) error { return io.EOF }

// able is a driver with everything.
type able struct{ plain }

func (d *able) Open(string) (driver.Conn, error) { return &ableConn{plainConn{&d.plain}}, nil }

func (d *able) OpenConnector(name string) (driver.Connector, error) {
	d.note("connector %s", name)
	return ableConnector{d}, nil
}

type ableConnector struct{ d *able }

func (c ableConnector) Connect(context.Context) (driver.Conn, error) { return c.d.Open("") }
func (c ableConnector) Driver() driver.Driver                        { return c.d }
func (c ableConnector) Close() error                                 { c.d.note("close"); return nil }

type ableConn struct{ plainConn }

func (c *ableConn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	c.d.note("prepare+ %s", query)
	return &ableStmt{plainStmt{c.d, query}}, nil
}

func (c *ableConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.d.note("exec+ %s %v", query, args)
	return driver.ResultNoRows, nil
}

func (c *ableConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.d.note("query+ %s %v", query, args)
	return empty{}, nil
}

func (c *ableConn) BeginTx(_ context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.d.note("begin+ %v %v", o.Isolation, o.ReadOnly)
	return plainTx{c.d}, nil
}
func (c *ableConn) Ping(context.Context) error         { c.d.note("ping"); return nil }
func (c *ableConn) ResetSession(context.Context) error { c.d.note("reset"); return nil }
func (c *ableConn) IsValid() bool                      { c.d.note("valid"); return true }
func (c *ableConn) CheckNamedValue(v *driver.NamedValue) error {
	if s, ok := v.Value.([]string); ok {
		v.Value = strings.Join(s, "+")
		return nil
	}
	return driver.ErrSkip
}

type ableStmt struct{ plainStmt }

func (s *ableStmt) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.d.note("exec+ %v", args)
	return driver.ResultNoRows, nil
}

func (s *ableStmt) QueryContext(_ context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.d.note("query+ %v", args)
	return empty{}, nil
}

func (s *ableStmt) ColumnConverter(int) driver.ValueConverter { return doubling{} }

type doubling struct{}

func (doubling) ConvertValue(v any) (driver.Value, error) {
	if n, ok := v.(int); ok {
		return int64(2 * n), nil
	}
	return driver.DefaultParameterConverter.ConvertValue(v)
}

// use does with a database what applications do.
func use(t *testing.T, db *sql.DB) {
	t.Helper()
	ctx := t.Context()
	ok := func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	ok("ping", db.PingContext(ctx))
	_, err := db.ExecContext(ctx, "UPDATE t SET a = ? WHERE id = ?", "x", 4)
	ok("exec", err)
	var a string
	if err := db.QueryRowContext(ctx, "SELECT a FROM t WHERE id = ?", 4).Scan(&a); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("query: %v", err)
	}
	s, err := db.PrepareContext(ctx, "SELECT a FROM t WHERE b = ?")
	ok("prepare", err)
	defer s.Close()
	if err := s.QueryRowContext(ctx, 21).Scan(&a); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("query prepared: %v", err)
	}
	tx, err := db.BeginTx(ctx, nil)
	ok("begin", err)
	_, err = tx.ExecContext(ctx, "INSERT INTO t VALUES (?)", 1.5)
	ok("exec in a transaction", err)
	ok("commit", tx.Commit())
	if tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err == nil { // some can
		ok("rollback", tx.Rollback())
	}
}

// TestAbilities: a guarded driver gets the same calls as the driver alone,
// whatever it can do.
func TestAbilities(t *testing.T) {
	for name, make := range map[string]func() (driver.Driver, func() []string){
		"plain": func() (driver.Driver, func() []string) { d := &plain{}; return d, d.take },
		"able":  func() (driver.Driver, func() []string) { d := &able{}; return d, d.take },
	} {
		d, take := make()
		alone := sql.OpenDB(connectTo{d, ""})
		use(t, alone)
		alone.Close()
		want := take()
		c, err := sqlguard.Connector(connectTo{d, ""}, sqlguard.Config{Guard: newGuard(t)})
		if err != nil {
			t.Fatal(err)
		}
		guarded := sql.OpenDB(c)
		use(t, guarded)
		got := take()
		if !slices.Equal(got, want) {
			t.Errorf("%s driver:\n%s\nalone:\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		_, err = guarded.ExecContext(t.Context(), "DELETE FROM t")
		wantRejected(t, err, "missing_where")
		for _, line := range take() {
			if strings.Contains(line, "DELETE") {
				t.Errorf("%s driver: it was sent: %s", name, line)
			}
		}
		guarded.Close()
	}
}

// TestNamedAndBulkValues: what the driver converts reaches it converted.
func TestNamedAndBulkValues(t *testing.T) {
	d := &able{}
	wrapped, err := sqlguard.Driver(d, sqlguard.Config{Guard: newGuard(t)})
	if err != nil {
		t.Fatal(err)
	}
	connector, err := wrapped.(driver.DriverContext).OpenConnector("x")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	run(t, db, "UPDATE t SET a = ? WHERE id = :id", []string{"a", "b"}, sql.Named("id", 4))
	if got := strings.Join(d.take(), ";"); !strings.Contains(got, "{ 1 a+b} {id 2 4}") {
		t.Errorf("calls %s", got)
	}
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Raw(func(dc any) error {
		if _, ok := dc.(interface{ Unwrap() driver.Conn }).Unwrap().(*ableConn); !ok {
			return errors.New("the driver's own connection is hidden")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	c.Close()
	if _, ok := db.Driver().(interface {
		Open(string) (driver.Conn, error)
	}); !ok {
		t.Error("no driver")
	}
	db.Close()
	if log := d.take(); log[len(log)-1] != "close" {
		t.Errorf("the connector was not closed: %q", log)
	}
}

// TestPlainLimits: what an old driver cannot do is refused as without a guard.
func TestPlainLimits(t *testing.T) {
	c, err := sqlguard.Connector(connectTo{&plain{}, ""}, sqlguard.Config{Guard: newGuard(t)})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	defer db.Close()
	for _, o := range []*sql.TxOptions{{ReadOnly: true}, {Isolation: sql.LevelSerializable}} {
		if _, err := db.BeginTx(t.Context(), o); err == nil {
			t.Errorf("options %v were taken", o)
		}
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE t SET a = :a WHERE id = 1", sql.Named("a", 1)); err == nil {
		t.Error("a named value was taken")
	}
}
