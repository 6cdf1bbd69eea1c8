// Package faults collects what is wrong with a configuration.
package faults

import "fmt"

// List is every fault so far; [errors.Join] makes one error of it.
type List []error

// If adds a fault when bad is true.
func (l *List) If(bad bool, format string, args ...any) {
	if bad {
		*l = append(*l, fmt.Errorf(format, args...))
	}
}

// In adds err, when there is one, behind the name of the part that it is about.
func (l *List) In(err error, part string, args ...any) {
	if err != nil {
		*l = append(*l, fmt.Errorf("%s: %w", fmt.Sprintf(part, args...), err))
	}
}

func (l *List) Add(format string, args ...any) { l.If(true, format, args...) }
