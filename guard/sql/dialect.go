package sql

import (
	"fmt"
	"strings"
)

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

// spelling is a name of a dialect, and the one that it stands for.
type spelling struct {
	name, canonical string
}

// spellings are the names that are known, each canonical one before its other
// spellings.
func spellings() [32]spelling {
	return [...]spelling{
		{"postgres", "postgres"},
		{"postgresql", "postgres"},
		{"pg", "postgres"},
		{"pgx", "postgres"},
		{"psql", "postgres"},
		{"cockroachdb", "postgres"},
		{"cockroach", "postgres"},
		{"redshift", "postgres"},
		{"timescaledb", "postgres"},
		{"yugabyte", "postgres"},
		{"greenplum", "postgres"},
		{"aurora-postgresql", "postgres"},
		{"mysql", "mysql"},
		{"tidb", "mysql"},
		{"vitess", "mysql"},
		{"percona", "mysql"},
		{"aurora-mysql", "mysql"},
		{"mysql2", "mysql"},
		{"mariadb", "mariadb"},
		{"maria", "mariadb"},
		{"generic", "generic"},
		{"ansi", "generic"},
		{"sqlite", "generic"},
		{"sqlite3", "generic"},
		{"sqlserver", "generic"},
		{"mssql", "generic"},
		{"oracle", "generic"},
		{"clickhouse", "generic"},
		{"duckdb", "generic"},
		{"snowflake", "generic"},
		{"bigquery", "generic"},
		{"trino", "generic"},
	}
}

// modes may stand behind a dialect, as in mysql+ansi_quotes: what the server's
// sql_mode says, and for PostgreSQL that standard_conforming_strings is off.
func modes() [3]string {
	return [...]string{"ansi_quotes", "no_backslash_escapes", "backslash_escapes"}
}

// Dialects are the canonical names of the dialects: postgres, mysql, mariadb,
// and generic, which is read tolerantly and should be used for one's own texts
// only.
func Dialects() []string {
	var list []string
	for _, s := range spellings() {
		if s.name == s.canonical {
			list = append(list, s.name)
		}
	}
	return list
}

// ParseDialect reads the name of a dialect in any case, a relative's too
// (cockroachdb, tidb, sqlite …), with modes behind it (mysql+ansi_quotes), and
// gives the canonical name with its modes. The empty name is generic. A Reader
// takes what comes out, and reads any other name as generic: ask ParseDialect
// where a person writes one.
func ParseDialect(name string) (string, error) {
	base, rest, more := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "+")
	canonical := canonicalDialect(base)
	if canonical == "" && base != "" {
		return "", fmt.Errorf("no dialect of SQL is called %q: use %s", name, strings.Join(Dialects(), ", "))
	}
	if canonical == "" {
		canonical = "generic"
	}
	for more {
		var mode string
		mode, rest, more = strings.Cut(rest, "+")
		if known := modes(); !oneOf(mode, known[:]...) {
			return "", fmt.Errorf("no mode of a dialect of SQL is called %q in %q: use %s", mode, name, strings.Join(known[:], ", "))
		}
		canonical += "+" + mode
	}
	return canonical, nil
}

func canonicalDialect(base string) string {
	for _, s := range spellings() {
		if strings.EqualFold(s.name, base) {
			return s.canonical
		}
	}
	return ""
}

// dialectOf is what a name means, with the modes behind it. Any name that is not
// known is read tolerantly. It allocates nothing.
func dialectOf(name string) dialect {
	base, rest, more := strings.Cut(name, "+")
	var d dialect
	switch canonicalDialect(base) {
	case "postgres":
		d.kind = postgres
	case "mysql":
		d = dialect{kind: mysql, backslash: true, doubleText: true}
	case "mariadb":
		d = dialect{kind: mysql, backslash: true, doubleText: true, pcre: true}
	}
	for more {
		var mode string
		mode, rest, more = strings.Cut(rest, "+")
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
