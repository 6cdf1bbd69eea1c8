// Package sift finds the rows that make a run fail, by bisection, and finishes
// all others. It knows no processes: a run is a function.
//
//	rows ──► batch ──► run ──► done ──────────────────────► Finish
//	           ▲        │
//	           │        └► failed: the first half alone
//	           │             passes: done, so the second half is guilty and is
//	           │                     halved next, without a run of its own
//	           │             fails:  halved next; the second half is not judged
//	           │        … one row is left: the suspect
//	           │             alone it fails again ─────────► SetAside
//	           │             alone it passes: done; it takes several rows
//	           └── what lies behind the suspect, as before
//
// # Guarantees
//
// Every row ends in exactly one of two ways, if Run returns nil: it was in
// exactly one successful run that Finish was told of, or it was given to
// SetAside once. Rows of failed runs run again: what a run does before it fails
// it does at least once.
//
// A row is set aside only when it failed alone, the way that its batch did or
// twice, or when a run named it (Outcome.Rows). What only fails together, as a
// pair or by number, is finished in smaller pieces, and Summary.Together says
// so.
//
// k bad rows of n in b batches take at most k·log2(n) runs and [Overhead]: each
// costs one failed run of what was left, ⌈log2⌉ of that to single it out, one
// alone, and few more until runs are large again.
//
// Suspects are tried alone last: after the first one was convicted, what else
// their batch holds is finished before them.
//
// # When it is not the rows
//
// At the first failure, when nothing has worked yet, two single rows from
// different places are tried. If they fail alike, it is the command and not the
// data: a [CommandError] after three runs, with nothing set aside. It may also
// be that (nearly) every row is bad; Config.Blame is for that. The same is asked
// again later, when three rows in a row were found guilty and nothing worked
// in between; what was not given to SetAside before then stays undecided.
//
// Transient failures are tried again after a wait, a bounded number of times.
// When single rows elsewhere fail so too, it is an [OutageError]. A batch that
// takes too long is split, and blames nobody unless its half was quick.
//
// # Not guaranteed
//
// A failure that comes and goes by itself may convict a row that met it twice.
// With more than one of [Config].Parallel, Finish is not called in the order of
// rows; a caller that needs order keeps what comes too early.
package sift
