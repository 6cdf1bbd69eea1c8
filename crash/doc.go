// Package crash reads what a program printed when it failed and says what
// failed: the same failure gets the same hash, whatever machine, build, log
// format or wording it came in; two failures at two places get two.
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
// What the program itself calls its failure (Ending.Failure), a kill of ours, a
// sanitizer's finding, a trace, an SQL client's error, a shell's, a headline with
// places, the last line that tells of an error, the bare end. What only says that
// something else failed (make, npm, CI) never comes before what tells why. Among equals
// the last fatal one wins; one that was only logged counts when nothing fatal
// is there.
//
// # What enters the hashes
//
// A version, the language, the exception's type, the frame's module, function
// and the base name of its file; for the strict fingerprint its line. A stable
// code (errno, SQLSTATE, status) enters for types that say too little
// (RuntimeError). The folded message enters only where there is no function to
// tell two places apart. How the process ended enters when that is all there
// is, or when it was killed for memory. A place without a function enters with
// its source, where a language prints it. The package stands for the place in a
// trace of packages alone whose message names what is missing: it may have been
// cut off anywhere.
//
// # Qualities
//
// A report says what it rests on: a frame of the user's own code (A), of
// somebody else's (B), words (C), an exit code or a signal (D). [Votes] says how
// many identical ones make a finding; D never does. A trace that was visibly
// cut off has a quality less, and the same hashes.
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
// The hashes are not keyed and no secret: whoever controls the output can
// choose them. Two bugs that meet in one function with one type share a group.
// A program that prints somebody else's trace last is blamed for it.
package crash
