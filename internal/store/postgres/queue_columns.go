package postgres

import (
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar"
)

// columns are rows turned into one array for each column, which unnest turns
// back: one statement for any number of rows.
type columns []any

// add appends one row.
func (c *columns) add(row ...any) {
	if *c == nil {
		*c = make(columns, len(row))
	}
	for i, v := range row {
		switch v := v.(type) {
		case int64:
			(*c)[i] = grow((*c)[i], v)
		case string:
			(*c)[i] = grow((*c)[i], v)
		case bool:
			(*c)[i] = grow((*c)[i], v)
		case []byte:
			(*c)[i] = grow((*c)[i], v)
		case *string:
			(*c)[i] = grow((*c)[i], v)
		}
	}
}

func grow[T any](column any, v T) []T {
	all, _ := column.([]T)
	return append(all, v)
}

func (c columns) args() []any { return c }

// orNull is text that is there or not.
func orNull(text []byte) *string {
	if text == nil {
		return nil
	}
	return new(string(text))
}

// fingerprint is nil for none.
func fingerprint(f bezoar.Fingerprint) []byte {
	if f.IsZero() {
		return nil
	}
	return f[:]
}

// plain reports whether a text may be in the database at all. Nothing is found
// by any other.
func plain(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
