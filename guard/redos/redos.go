package redos

import "fmt"

// Class says how the time of a failing match grows with the text.
type Class uint8

// The classes, from good to bad but for Unknown, about which nothing was found
// out: too long, not readable, or over the budget.
const (
	Safe        Class = iota // linear
	Polynomial               // with the square or a higher power
	Exponential              // doubles with every few bytes
	Unknown
)

func (c Class) String() string {
	if names := [...]string{"safe", "polynomial", "exponential", "unknown"}; uint(c) < uint(len(names)) {
		return names[c]
	}
	return fmt.Sprintf("Class(%d)", uint8(c))
}

// What an analysis may cost.
const (
	MaxPattern    = 65_536    // bytes; longer ones are Unknown
	DefaultBudget = 1_200_000 // steps; some twenty milliseconds at worst
)

// Options say how an expression is used. The zero value is a JavaScript search
// without flags.
type Options struct {
	Dialect Dialect
	// Flags are the dialect's letters: i, m, s, x, u and so on. Letters without
	// a meaning here (g, d) are ignored. JavaScript's y implies Anchored.
	Flags string
	// Anchored: the caller matches at the start of the text only (Python's
	// match, Java's matches), so that no search restarts at every position.
	Anchored bool
	// Budget bounds the analysis in steps; 0 is DefaultBudget. A step is an
	// edge of a product automaton or an instruction of the matcher.
	Budget int
}

// Witness is an attack: Prefix, then Pump again and again, then Suffix.
type Witness struct{ Prefix, Pump, Suffix string }

// Text is the attack with n pumps.
func (w Witness) Text(n int) string {
	b := make([]byte, 0, len(w.Prefix)+n*len(w.Pump)+len(w.Suffix))
	b = append(b, w.Prefix...)
	for range n {
		b = append(b, w.Pump...)
	}
	return string(append(b, w.Suffix...))
}

// Result is what an analysis found.
type Result struct {
	Class  Class
	Degree int // of a polynomial, as measured: 2 is quadratic
	// SearchOnly: one attempt is linear, but an unanchored search repeats it at
	// every position. A weaker kind of Polynomial.
	SearchOnly bool
	Witness    Witness
	Confirmed  bool // the witness was run on the matcher and its steps grew so
	// States and Repeat size the automaton that the expression becomes: its
	// states when every counted repeat is written out, and the largest product
	// of nested counts. Both end at MaxSize. For Lucene, States counts those of
	// the determinised automaton, as far as the budget goes.
	States, Repeat int
	Steps          int    // that the analysis took
	Reason         string // why, in words
	Fix            string // what its author can do about it; "" if Safe
	Offset         int    // byte in the pattern that Reason is about: where a loop begins; -1 if none
}

// MaxSize is where States and Repeat stop counting.
const MaxSize = 1 << 30
