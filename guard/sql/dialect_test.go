package sql_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/sql"
)

func TestParseDialect(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"", "generic"},
		{"postgres", "postgres"},
		{"PostgreSQL", "postgres"},
		{"pg", "postgres"},
		{"cockroachdb", "postgres"},
		{"mysql", "mysql"},
		{"TiDB", "mysql"},
		{" mariadb ", "mariadb"},
		{"sqlite", "generic"},
		{"mysql+ansi_quotes", "mysql+ansi_quotes"},
		{"MySQL+ANSI_QUOTES+no_backslash_escapes", "mysql+ansi_quotes+no_backslash_escapes"},
	} {
		if got, err := sql.ParseDialect(c.name); err != nil || got != c.want {
			t.Errorf("ParseDialect(%q) is %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	for _, name := range []string{"postgers", "my sql", "+ansi_quotes+", "mysql+", "mysql+strict", "js"} {
		got, err := sql.ParseDialect(name)
		if err == nil {
			t.Errorf("ParseDialect(%q) is %q, want an error", name, got)
			continue
		}
		if !strings.Contains(err.Error(), "use ") {
			t.Errorf("%v does not say what to use", err)
		}
	}
}

// TestDialectsAreCanonical: each of them stands for itself.
func TestDialectsAreCanonical(t *testing.T) {
	list := sql.Dialects()
	if len(list) != 4 {
		t.Errorf("%q", list)
	}
	for _, name := range list {
		if got, err := sql.ParseDialect(name); err != nil || got != name {
			t.Errorf("ParseDialect(%q) is %q, %v", name, got, err)
		}
	}
}
