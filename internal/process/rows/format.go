package rows

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Format is the way a file is divided into rows.
type Format string

// The formats.
const (
	Lines  Format = "lines"
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

// DefaultMaxRow is the longest row, in bytes.
const DefaultMaxRow = 16 << 20

// Config describes how a file is read.
type Config struct {
	Format    Format // default Lines
	Delimiter byte   // between the fields of CSV; default a comma
	MaxRow    int64  // bytes of one row with its line end; default 16 MiB
}

func (c Config) withDefaults() Config {
	c.Format = cmp.Or(c.Format, Lines)
	c.Delimiter = cmp.Or(c.Delimiter, ',')
	c.MaxRow = cmp.Or(c.MaxRow, DefaultMaxRow)
	return c
}

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	errs.If(c.Format != Lines && c.Format != NDJSON && c.Format != CSV, "format is %.40q, want lines, ndjson or csv", string(c.Format))
	errs.If(c.Delimiter == '"' || c.Delimiter == '\n' || c.Delimiter == '\r' || c.Delimiter >= 0x80, "delimiter is %q, want one ASCII character that is neither a quote nor a line end", c.Delimiter)
	errs.If(c.MaxRow < 1, "max row is %d bytes, want at least 1", c.MaxRow)
	return errors.Join(errs...)
}

// LineError names the line at which the rows cannot be separated.
type LineError struct {
	Line   int // counted from 1
	Reason string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }
