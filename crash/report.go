package crash

import "github.com/bezoar-dev/bezoar"

// Report says what failed.
type Report struct {
	Class bezoar.Class `json:"class"`
	// Type is the exception's type, the panic's kind, the sanitizer's finding,
	// the signal or the client's error code, as its language writes it.
	Type string `json:"type"`
	// Frame is the innermost frame of the user's own code, else the first that
	// says something; zero when there is none.
	Frame Frame `json:"frame"`
	// Reason is the message with everything folded that differs from one
	// incident to the next; at most MaxReason bytes.
	Reason string `json:"reason"`
	// Fingerprint is the strict one: it tells lines apart, and decides about
	// retries within one build. 32 hexadecimal digits.
	Fingerprint string `json:"fingerprint"`
	// Group is the same without line and build: it holds incidents together
	// over time. 32 hexadecimal digits.
	Group   string  `json:"group"`
	Quality Quality `json:"quality"`

	// Message is the first line of what Reason was made of, as printed, at most
	// MaxReason bytes. It may hold anything that the program was given.
	Message string `json:"-"`

	Language string   `json:"-"` // the table's entry that read it; "text" for the fallback
	Code     string   `json:"-"` // the discriminator that entered the hash: errno, SQLSTATE, HTTP status
	Why      []string `json:"-"` // how it was found, step by step, for people
}

// Frame is one place in a program.
type Frame struct {
	File     string `json:"file"` // as printed
	Line     int    `json:"line"` // 0 when unknown
	Function string `json:"function"`
	// Module is a class, package, crate, application or binary, where the
	// language prints one apart from the function.
	Module string `json:"-"`

	source string // of a place without a function, where a language prints it
}

// Quality grades what a Report rests on, from A to D.
type Quality string

// The qualities. Votes says how often the same one must come before it counts.
const (
	Own     Quality = "A" // a frame of the user's own code
	Library Quality = "B" // a frame of somebody else's
	Message Quality = "C" // words only
	Exit    Quality = "D" // an exit code or a signal: never poison by itself
)
