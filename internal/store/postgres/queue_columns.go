package postgres

import (
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar"
)

// columns holds rows as one array per column, which unnest converts back: one statement for
// any number of rows.
type columns []any

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

// orNull is text that may be null.
func orNull(text []byte) *string {
	if text == nil {
		return nil
	}
	return new(string(text))
}

// fingerprint returns nil for a zero fingerprint.
func fingerprint(f bezoar.Fingerprint) []byte {
	if f.IsZero() {
		return nil
	}
	return f[:]
}

// plain reports whether the database can contain a text. A search for any other text finds
// nothing.
func plain(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
