package querylog

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/bezoar-dev/bezoar/guard"
)

// MaxEntry is the maximum size in bytes of a log entry, which may have several lines.
const MaxEntry = 16 << 20

// Options configure reading. The zero value detects the format.
type Options struct {
	Format Format
	Kind   guard.Kind // of requests in access logs; default Elasticsearch
}

// Validate returns an error that names every invalid field, or nil.
func (o Options) Validate() error {
	var errs []error
	if o.Format != "" {
		if _, err := ParseFormat(string(o.Format)); err != nil {
			errs = append(errs, fmt.Errorf("Format: %w", err))
		}
	}
	if o.Kind != "" {
		if _, err := guard.ParseKind(string(o.Kind)); err != nil {
			errs = append(errs, fmt.Errorf("Kind: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Visit receives a query of a log, or an error for a line that should contain a query, with
// the number of its first line. Queries arrive when they are complete: a PostgreSQL query
// that waits for its parameters may arrive after a later one. Visit may keep rec. If it
// returns an error, reading stops.
type Visit func(line int, rec *guard.Record, err error) error

// Read calls visit for every query of a log.
func Read(r io.Reader, o Options, visit Visit) error {
	if err := o.Validate(); err != nil {
		return fmt.Errorf("read a log: %w", err)
	}
	in := bufio.NewReaderSize(r, detectBytes)
	format := o.Format
	if format == "" {
		head, err := in.Peek(detectBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		format = Detect(head)
	} else {
		format, _ = ParseFormat(string(format))
	}
	if format == Postgres {
		return readPostgres(in, visit)
	}
	return readLines(in, o.Kind, visit)
}

// errNoQuery is returned for log entries without a query.
var errNoQuery = errors.New("no query")

func readLines(r io.Reader, kind guard.Kind, visit Visit) error {
	return guard.Lines(r, func(n int, line []byte, err error) error {
		var rec guard.Record
		if err == nil {
			rec, err = parseLine(line, kind)
		}
		switch {
		case errors.Is(err, errNoQuery):
			return nil
		case err != nil:
			return visit(n, nil, err)
		}
		return visit(n, &rec, nil)
	})
}
