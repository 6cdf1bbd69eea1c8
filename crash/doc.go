// Package crash reads what a program printed when it failed and says what failed. The
// same failure gets the same hash on every machine, in every build, log format and
// wording. Two failures in two places get two hashes.
//
//	output ──► keep ──► clean ──► walk ──► choose ──► fold ──► hash ──► Report
//	            │         │         │         │         │        │
//	            │         │         │         │         │        ├ Fingerprint: with the line
//	            │         │         │         │         │        └ Group: without line and build
//	            │         │         │         │         └ message without ids, numbers, paths, dates
//	            │         │         │         └ innermost exception that owns a frame of the user's code
//	            │         │         └ table of languages, one file each; the last fatal trace counts
//	            │         └ no colours, carriage returns, log columns, margins; JSON lines unfolded
//	            └ the last 256 KiB, and 64 KiB behind the last few early beginnings
//
// # What wins
//
// In this order: the failure that the program itself names (Ending.Failure), a kill by
// Bezoar, a sanitizer's finding, a trace, an SQL client's error, a shell's error, a
// headline with places, the last line that reports an error, the bare end. A line that
// only says that something else failed (make, npm, CI) never goes before the line that
// says why. Among equals the last fatal one wins. A failure that was only logged counts
// if no fatal one is there.
//
// # What enters the hashes
//
// Always: a version, the language, the exception's type, and of the frame its module,
// its function and the base name of its file. The strict fingerprint adds the line.
//
//   - A stable code (errno, SQLSTATE, status), for types that say too little
//     (RuntimeError).
//   - The folded message, only if there is no function to tell two places apart.
//   - How the process ended, if nothing else is known, or if it was killed for memory.
//   - The source line of a place without a function, if the language prints it.
//   - The package instead of the frame, if a trace has only frames of packages and its
//     message names what is missing: the trace may have been cut off anywhere.
//
// # Qualities
//
// A report says what its evidence is: a frame of the user's own code (A), a frame of
// somebody else's code (B), words (C), an exit code or a signal (D). [Votes] says how
// many identical reports make a finding; D never does. A trace that was visibly cut off
// has a quality one step lower, and the same hashes.
//
// # Guarantees
//
// Memory is bounded whatever the input, time is linear in it, and every input
// gives a report or [ErrSilent]; nothing panics. The same bytes give the same
// report. Hashes are stable within a version of the canonical form, which is
// part of them. There is no state: a [Parser] may be shared.
//
// # Not guaranteed
//
// The hashes have no key and are not secret: a program that controls its output can
// choose them. Two bugs in one function with one type share a group. A program that
// prints another program's trace last is blamed for it.
package crash
