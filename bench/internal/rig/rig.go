// Package rig is what the benchmarks' commands share.
package rig

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Report is what a benchmark has found.
type Report interface {
	comparable
	WriteTable(w io.Writer) error
}

// Main runs a command until it ends or is interrupted.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Flags begins a command line, which has -json; Run reads it.
func Flags(name string, stderr io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Bool("json", false, "print one JSON document")
	return flags
}

// Run parses args, checks them, measures and prints what was found, if anything was.
// It returns that and the exit code: 2 for arguments that are wrong.
func Run[R Report](flags *flag.FlagSet, args []string, stdout io.Writer, check func() error, measure func() (R, error)) (report R, code int) {
	fail := func(code int, err error) (R, int) {
		fmt.Fprintf(flags.Output(), "%s: %v\n", flags.Name(), err)
		return report, code
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return report, 0
		}
		return report, 2
	}
	if err := check(); err != nil {
		return fail(2, err)
	}
	found, err := measure()
	if err != nil {
		return fail(1, err)
	}
	if found == report {
		return report, 0
	}
	if flags.Lookup("json").Value.String() == "true" {
		err = WriteJSON(stdout, found)
	} else {
		err = found.WriteTable(stdout)
	}
	if err != nil {
		return fail(1, fmt.Errorf("write the report: %w", err))
	}
	return found, 0
}

// WriteJSON writes the one document.
func WriteJSON(w io.Writer, report any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(report)
}

// Median returns the middle of some figures, or the mean of the two in the middle.
func Median[T ~int64 | ~float64](figures []T) T {
	sorted := slices.Sorted(slices.Values(figures))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
