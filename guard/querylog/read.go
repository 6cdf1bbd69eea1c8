package querylog

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/bezoar-dev/bezoar/guard"
)

// MaxEntry bounds one entry of a log: a line, or several that belong together.
const MaxEntry = 16 << 20

// Options say how to read a log. The zero value finds out.
type Options struct {
	Format Format
	Kind   guard.Kind // of the requests in access logs; "" is Elasticsearch
}

// Validate reports every impossible field.
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

// Visit gets a query of a log, or why there is none where one should be, and the
// line at which it begins. Queries come as they end: one of PostgreSQL that waits
// for its parameters may come after a later one. It may keep the record. Its error ends the reading.
type Visit func(line int, rec *guard.Record, err error) error

// Read visits every query of a log.
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

// errNoQuery is of what is in a log and is no query.
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
