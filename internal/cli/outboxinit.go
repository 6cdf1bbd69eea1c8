package cli

import (
	"cmp"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb"
)

type outboxInit struct {
	outboxAt
	PrintSQL bool   `name:"print-sql" help:"Print the SQL, and touch no database."`
	Notify   bool   `help:"PostgreSQL: each commit also notifies relays, which saves them some milliseconds of polling."`
	Dialect  string `enum:"postgres,mysql,sqlite" default:"postgres" placeholder:"NAME" help:"With --print-sql: postgres, mysql or sqlite (default ${default})."`
}

// Help is shown below the flags.
func (outboxInit) Help() string {
	return "The command may be repeated: it also brings the tables of an older version up to date. An application in any language writes events with the function or the statements that the SQL explains."
}

// Run makes an outbox, or prints the SQL.
func (c *outboxInit) Run(s *session) error {
	if c.PrintSQL {
		schema := cmp.Or(c.Schema, outboxdb.DefaultSchema)
		sql, err := outboxdb.SQL(c.Dialect, outboxdb.Config{Schema: schema, Notify: c.Notify})
		if err != nil {
			return &exitError{code: exitUsage, err: err}
		}
		return s.show(map[string]string{"dialect": c.Dialect, "schema": schema, "sql": sql}, nil, func() { s.out.printf("%s", sql) })
	}
	w, err := c.find(s)
	if err != nil {
		return err
	}
	id, err := outboxdb.Init(s, w.database, outboxdb.Config{Schema: w.schema, Notify: c.Notify})
	doc := map[string]any{"name": w.name, "database": w.kind(), "schema": w.schema, "id": id.ID, "version": id.Version, "made": id.Made}
	return s.show(doc, outboxError(w, err), func() {
		s.out.printf("the outbox %s exists: %s, version %d\n", clean(w.schema), clean(id.ID), id.Version)
	})
}
