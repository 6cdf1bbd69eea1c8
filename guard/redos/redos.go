package redos

import "fmt"

// Class is the growth of the time of a failing match with the length of the text.
type Class uint8

// The classes, from harmless to harmful. Unknown means no result: the pattern is too long
// or unreadable, or the analysis exceeded its budget.
const (
	Safe        Class = iota // linear
	Polynomial               // with the square or a higher power of the length
	Exponential              // doubles with every few bytes
	Unknown
)

func (c Class) String() string {
	if names := [...]string{"safe", "polynomial", "exponential", "unknown"}; uint(c) < uint(len(names)) {
		return names[c]
	}
	return fmt.Sprintf("Class(%d)", uint8(c))
}

// Limits of an analysis.
const (
	MaxPattern    = 65_536    // bytes; longer patterns are Unknown
	DefaultBudget = 1_200_000 // steps; at most about twenty milliseconds
)

// Options describe how an expression is used. The zero value means a JavaScript search
// without flags.
type Options struct {
	Dialect Dialect
	// Flags are the letters of the dialect: i, m, s, x, u and so on. Letters without effect
	// here (g, d) are ignored. JavaScript's y implies Anchored.
	Flags string
	// Anchored means that the caller matches only at the start of the text (Python's match,
	// Java's matches), so that no search restarts at every position.
	Anchored bool
	// Budget limits the analysis in steps; 0 means DefaultBudget. A step is an edge of a
	// product automaton or an instruction of the matcher.
	Budget int
}

// Witness is an attack: Prefix, then Pump repeatedly, then Suffix.
type Witness struct{ Prefix, Pump, Suffix string }

// Text returns the attack with n pumps.
func (w Witness) Text(n int) string {
	b := make([]byte, 0, len(w.Prefix)+n*len(w.Pump)+len(w.Suffix))
	b = append(b, w.Prefix...)
	for range n {
		b = append(b, w.Pump...)
	}
	return string(append(b, w.Suffix...))
}

// Result is the result of an analysis.
type Result struct {
	Class  Class
	Degree int // of a polynomial, as measured: 2 means quadratic
	// SearchOnly marks a weaker kind of Polynomial: one attempt is linear, but an
	// unanchored search repeats it at every position.
	SearchOnly bool
	Witness    Witness
	Confirmed  bool // the witness was run on the matcher, and the steps grew accordingly
	// States and Repeat give the size of the automaton: the number of states with all
	// counted repeats written out, and the largest product of nested counts. Both stop at
	// MaxSize. For Lucene, States counts the states of the determinized automaton, as far
	// as the budget allows.
	States, Repeat int
	Steps          int    // steps of the analysis
	Reason         string // the reason, as text
	Fix            string // advice for the author; empty if Safe
	Offset         int    // byte in the pattern that Reason refers to, such as the start of a loop; -1: none
}

// MaxSize is the maximum of States and Repeat.
const MaxSize = 1 << 30
