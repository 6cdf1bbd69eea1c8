package sqlguard

import (
	"context"
	"database/sql/driver"
)

// stmt guards a prepared statement. text is the prepared text.
type stmt struct {
	driver.Stmt
	conn *conn
	text string
}

var (
	_ driver.StmtExecContext   = (*stmt)(nil)
	_ driver.StmtQueryContext  = (*stmt)(nil)
	_ driver.NamedValueChecker = (*stmt)(nil)
	_ driver.ColumnConverter   = converting{} //nolint:staticcheck // likewise
)

// converting is a statement whose driver converts arguments itself. It is a separate type,
// because database/sql treats statements with a converter differently.
type converting struct {
	*stmt
	converter driver.ColumnConverter //nolint:staticcheck // drivers may have only this one
}

func (s converting) ColumnConverter(i int) driver.ValueConverter {
	return s.converter.ColumnConverter(i)
}

func newStmt(inner driver.Stmt, c *conn, text string) driver.Stmt {
	s := &stmt{Stmt: inner, conn: c, text: text}
	if cc, ok := inner.(driver.ColumnConverter); ok { //nolint:staticcheck // drivers may have only this one
		return converting{s, cc}
	}
	return s
}

func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	if err := s.conn.judge.askPrepared(context.Background(), s.text, unnamed(args)); err != nil {
		return nil, err
	}
	return s.Stmt.Exec(args) //nolint:staticcheck // drivers may have only this one
}

func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	if err := s.conn.judge.askPrepared(context.Background(), s.text, unnamed(args)); err != nil {
		return nil, err
	}
	return s.Stmt.Query(args) //nolint:staticcheck // drivers may have only this one
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.conn.judge.askPrepared(ctx, s.text, named(args)); err != nil {
		return nil, err
	}
	if e, ok := s.Stmt.(driver.StmtExecContext); ok {
		return e.ExecContext(ctx, args)
	}
	values, err := positional(ctx, args)
	if err != nil {
		return nil, err
	}
	return s.Stmt.Exec(values) //nolint:staticcheck // drivers may have only this one
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.judge.askPrepared(ctx, s.text, named(args)); err != nil {
		return nil, err
	}
	if q, ok := s.Stmt.(driver.StmtQueryContext); ok {
		return q.QueryContext(ctx, args)
	}
	values, err := positional(ctx, args)
	if err != nil {
		return nil, err
	}
	return s.Stmt.Query(values) //nolint:staticcheck // drivers may have only this one
}

// CheckNamedValue asks the statement, then its connection, in the order of database/sql.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}
