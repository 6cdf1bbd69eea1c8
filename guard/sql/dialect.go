package sql

import "strings"

// dialect is how a text is cut into tokens.
type dialect struct {
	kind       family
	backslash  bool // escapes in '…'
	doubleText bool // "…" is text, not a name
	pcre       bool // regular expressions are PCRE's, not ICU's
}

type family uint8

const (
	generic family = iota // not known: whatever reads in one of them
	postgres
	mysql
)

// dialectOf reads a name such as postgres, mysql or mariadb, with modes of
// sql_mode behind it: mysql+ansi_quotes, mysql+no_backslash_escapes. Any other
// name is read tolerantly. It allocates nothing.
func dialectOf(name string) dialect {
	base, modes, _ := strings.Cut(name, "+")
	var d dialect
	switch {
	case oneOf(base, "postgres", "postgresql", "pg", "pgx", "cockroachdb", "cockroach", "redshift", "timescaledb", "yugabyte", "greenplum"):
		d.kind = postgres
	case oneOf(base, "mysql", "tidb", "vitess", "aurora-mysql", "percona"):
		d = dialect{kind: mysql, backslash: true, doubleText: true}
	case oneOf(base, "mariadb"):
		d = dialect{kind: mysql, backslash: true, doubleText: true, pcre: true}
	}
	for modes != "" {
		var mode string
		mode, modes, _ = strings.Cut(modes, "+")
		switch {
		case oneOf(mode, "ansi_quotes"):
			d.doubleText = false
		case oneOf(mode, "no_backslash_escapes"):
			d.backslash = false
		case oneOf(mode, "backslash_escapes"): // PostgreSQL without standard_conforming_strings
			d.backslash = true
		}
	}
	return d
}

func oneOf(name string, list ...string) bool {
	for _, n := range list {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}
