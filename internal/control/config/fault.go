package config

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// MaxFaults is the maximum number of faults in one [Faults].
const MaxFaults = 50

// maxGathered is the maximum number of faults that are counted.
const maxGathered = 1000

// Fault is one fault of the settings.
type Fault struct {
	File    string `json:"file,omitempty"` // name of the file; empty: the settings have another origin
	Line    int    `json:"line"`           // from 1; 0: unknown
	Column  int    `json:"column"`
	Path    string `json:"path"`    // path of the field, such as fleets.search.replicas
	Problem string `json:"problem"` // the problem, with the value
	Fix     string `json:"fix"`     // what to write instead
}

// Error returns file:line:column: path: problem — fix.
func (f Fault) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
		}
		b.WriteString(": ")
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Problem)
	if f.Fix != "" {
		b.WriteString(" — " + f.Fix)
	}
	return b.String()
}

// Faults is the list of all faults, in the order of the file.
type Faults struct {
	List []Fault // at most MaxFaults
	More int     // number of further faults
}

// Error returns one fault per line.
func (fs *Faults) Error() string {
	lines := make([]string, 0, len(fs.List)+1)
	for _, f := range fs.List {
		lines = append(lines, f.Error())
	}
	if fs.More > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", fs.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each fault.
func (fs *Faults) Unwrap() []error {
	return each.Of(fs.List, func(f Fault) error { return f })
}

// faultsError sorts and shortens a list. It returns nil for an empty list.
func faultsError(list []Fault) error {
	if len(list) == 0 {
		return nil
	}
	sorted.StableFunc(list, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	fs := &Faults{List: list}
	if n := len(list) - MaxFaults; n > 0 {
		fs.List, fs.More = list[:MaxFaults], n
	}
	return fs
}

// flaw is a fault without its place.
type flaw struct{ problem, fix string }

func (f *flaw) Error() string { return f.problem + " — " + f.fix }

func flawf(fix, format string, args ...any) *flaw {
	return &flaw{problem: fmt.Sprintf(format, args...), fix: fix}
}

// flawIf is flawf if bad is true, otherwise nil.
func flawIf(bad bool, fix, format string, args ...any) *flaw {
	if !bad {
		return nil
	}
	return flawf(fix, format, args...)
}

// maxShown is the maximum length of a value in an error.
const maxShown = 60

// quoted returns a value from the file for display: shortened and without control
// characters.
func quoted(s string) string {
	if len(s) > maxShown {
		cut := maxShown
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return fmt.Sprintf("%q", s)
}
