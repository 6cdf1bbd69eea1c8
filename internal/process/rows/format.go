package rows

import (
	"errors"
	"fmt"
)

// Format is how a file is cut into rows.
type Format string

// The formats.
const (
	Lines  Format = "lines"
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

// DefaultMaxRow is the longest row, in bytes.
const DefaultMaxRow = 16 << 20

// Config says how a file is read.
type Config struct {
	Format    Format // default Lines
	Delimiter byte   // between the fields of CSV; default a comma
	MaxRow    int64  // bytes of one row with its line end; default 16 MiB
}

func (c Config) withDefaults() Config {
	if c.Format == "" {
		c.Format = Lines
	}
	if c.Delimiter == 0 {
		c.Delimiter = ','
	}
	if c.MaxRow == 0 {
		c.MaxRow = DefaultMaxRow
	}
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if c.Format != Lines && c.Format != NDJSON && c.Format != CSV {
		errs = append(errs, fmt.Errorf("format is %.40q, want lines, ndjson or csv", string(c.Format)))
	}
	if c.Delimiter == '"' || c.Delimiter == '\n' || c.Delimiter == '\r' || c.Delimiter >= 0x80 {
		errs = append(errs, fmt.Errorf("delimiter is %q, want one ASCII character that is neither a quote nor a line end", c.Delimiter))
	}
	if c.MaxRow < 1 {
		errs = append(errs, fmt.Errorf("max row is %d bytes, want at least 1", c.MaxRow))
	}
	return errors.Join(errs...)
}

// LineError says at which line rows cannot be told apart.
type LineError struct {
	Line   int // counted from 1
	Reason string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }
