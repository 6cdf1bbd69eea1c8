package crash

// language is one entry of the table in languages.go: how one kind of trace
// looks. A new language is one file with one such value.
//
// The input has been cleaned before: no colours, no carriage returns, no log
// prefixes or margins; indentation is kept. All functions are pure, take time
// linear in what they read, and never panic.
type language struct {
	name string
	// begins reports whether a trace may begin at a line. It is asked for every
	// line, so it begins with a comparison of a few bytes that hardly any
	// line of a log passes.
	begins func(l string) bool
	// signs are words of which every line has one, wherever, that begins
	// passes, unless its first byte is one of starts. Each has four bytes at
	// least. nil: begins has to be asked.
	signs  []string
	starts string
	// read reads the trace that begins at lines[i], with all that belongs to
	// it (causes, wrappers, members), and returns the index behind it. ok is
	// false when it is none after all.
	read func(lines []string, i int) (t trace, next int, ok bool)
	// library reports whether a frame is not the user's own: the language's
	// runtime and standard library, installed packages, generated code.
	library func(f Frame) bool
	// ignore reports frames that say nothing at all and are passed over even
	// when there is no own frame: trampolines, panic machinery, interceptors.
	// nil ignores none.
	ignore func(f Frame) bool
	// canonical returns the frame as it enters the hash: without what differs
	// between machines and builds of the same code (folders above the project,
	// lambda and proxy numbers, generics, hashes). Line stays. nil takes the
	// file's base name and the function as they are.
	canonical func(f Frame) Frame
	// pooled returns the package that stands for a frame of somebody else's when
	// the folded message names what failed by itself, so that it does not matter
	// how deep a trace was cut off; "" otherwise. nil never does.
	pooled func(f Frame, e exception, reason string) string
	// vague reports a type that says too little by itself (Error,
	// RuntimeError): the exception's code then enters the hash.
	vague func(typ string) bool
	// kind returns the type as it enters the hash, where versions of the
	// language or of a library name the same thing differently
	// (ModuleNotFoundError was ImportError, exceptions move between modules).
	// nil takes the type as printed.
	kind func(e exception) string
	// class returns what an exception says beyond an ordinary bug, for traces
	// to which read gives no class: oom, timeout, outage; "" for nothing. nil
	// leaves all to the rules for all languages.
	class func(e exception) string
}

// trace is one failure as a program printed it.
type trace struct {
	// chain is what was thrown, the root cause first, what was reported last.
	// Members of a group come as further causes.
	chain []exception
	// fatal says that the program ended of it. A trace that was merely logged,
	// or a sanitizer's that let the program go on, only counts when nothing
	// fatal is there.
	fatal bool
	// rank breaks ties between fatal traces of different languages over the
	// same lines; the higher wins (a sanitizer's summary before what the
	// runtime prints after it). 0 for most.
	rank int
	// cut says that the trace was visibly truncated: its quality is lower.
	cut bool
	// class is what the language knows of it beyond an ordinary bug: oom,
	// timeout, outage; "" leaves it to the rules for all.
	class string
}

// exception is one member of a trace's chain.
type exception struct {
	typ     string  // as printed: KeyError, java.io.IOException, runtime error
	code    string  // a stable discriminator: ECONNREFUSED, 42P01, 503; "" for none
	message string  // raw, what was printed behind the type; may have several lines
	frames  []Frame // the innermost first
	wrapper bool    // only carries its cause (ExecutionException): never chosen before it
}

// add appends a frame, unless there are maxFrames.
func (e *exception) add(f Frame) {
	if len(e.frames) < maxFrames {
		e.frames = append(e.frames, f)
	}
}
