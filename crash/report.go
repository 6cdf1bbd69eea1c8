package crash

import "github.com/bezoar-dev/bezoar"

// Report says what failed.
type Report struct {
	Class bezoar.Class `json:"class"`
	// Type is the type of the exception, the kind of the panic, the finding of the
	// sanitizer, the signal or the error code of the client, as its language writes it.
	Type string `json:"type"`
	// Frame is the innermost frame of the own code of the user, or else the first useful
	// one; zero if there is none.
	Frame Frame `json:"frame"`
	// Reason is the message without the parts that differ between incidents; at most
	// MaxReason bytes.
	Reason string `json:"reason"`
	// Fingerprint is the strict hash: it tells lines apart, and decides about retries
	// within one build. 32 hexadecimal digits.
	Fingerprint string `json:"fingerprint"`
	// Group is the hash without line and build. It stays the same over time. 32
	// hexadecimal digits.
	Group   string  `json:"group"`
	Quality Quality `json:"quality"`

	// Message is the first line of the message, as printed, at most MaxReason bytes. It
	// may contain any input of the program.
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
	// Module is a class, package, crate, application or binary, if the language prints it
	// apart from the function.
	Module string `json:"-"`

	source string // of a place without a function, where a language prints it
	offset string // in a binary whose functions have no names: told apart like lines
}

// Quality grades the evidence of a Report, from A to D.
type Quality string

// The qualities. Votes says how often the same one must come before it counts.
const (
	Own     Quality = "A" // a frame of the user's own code
	Library Quality = "B" // a frame of somebody else's
	Message Quality = "C" // words only
	Exit    Quality = "D" // an exit code or a signal: never poison by itself
)
