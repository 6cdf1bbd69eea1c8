package sql

import (
	"fmt"
	"slices"
	"strings"
)

// dialect says how to split a text into tokens.
type dialect struct {
	kind       family
	backslash  bool // '…' has backslash escapes
	doubleText bool // "…" is text, not a name
	pcre       bool // regular expressions are PCRE's, not ICU's
}

type family uint8

const (
	generic family = iota // unknown: accept what is valid in one of them
	postgres
	mysql
)

// spelling is a name of a dialect, with its canonical name.
type spelling struct {
	name, canonical string
}

// spellings returns the known names, each canonical name before its other spellings.
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

// modes returns the modes that may follow a dialect, as in mysql+ansi_quotes: flags of the
// server's sql_mode and, for PostgreSQL, that standard_conforming_strings is off.
func modes() [3]string {
	return [...]string{"ansi_quotes", "no_backslash_escapes", "backslash_escapes"}
}

// Dialects returns the canonical names of the dialects: postgres, mysql, mariadb and
// generic. The generic dialect is tolerant; use it only for texts that you wrote yourself.
func Dialects() []string {
	var list []string
	for _, s := range spellings() {
		if s.name == s.canonical {
			list = append(list, s.name)
		}
	}
	return list
}

// ParseDialect parses the name of a dialect, ignoring case. It accepts names of related
// products (cockroachdb, tidb, sqlite …) and modes after the name (mysql+ansi_quotes), and
// returns the canonical name with its modes. The empty name means generic. A Reader accepts
// the result, and treats any other name as generic; so use ParseDialect for names that
// people write.
func ParseDialect(name string) (string, error) {
	base, rest, more := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "+")
	canonical := canonicalDialect(base)
	if canonical == "" && base != "" {
		return "", fmt.Errorf("unknown SQL dialect %q: use %s", name, strings.Join(Dialects(), ", "))
	}
	if canonical == "" {
		canonical = "generic"
	}
	for more {
		var mode string
		mode, rest, more = strings.Cut(rest, "+")
		if known := modes(); !oneOf(mode, known[:]...) {
			return "", fmt.Errorf("unknown mode %q of an SQL dialect in %q: use %s", mode, name, strings.Join(known[:], ", "))
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

// dialectOf returns the dialect for a name with modes. An unknown name means the tolerant
// dialect. It allocates nothing.
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
	return slices.ContainsFunc(list, func(n string) bool { return strings.EqualFold(n, name) })
}
