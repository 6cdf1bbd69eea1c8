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
// If Run returns nil, every row has ended in exactly one of two ways: it was in exactly
// one successful run that was passed to Finish, or it was passed to SetAside once. Rows
// of failed runs run again, so the effects of a failed run happen at least once.
//
// A row is set aside only if it failed alone, in the same way as its batch or twice, or
// if a run named it (Outcome.Rows). Rows that fail only together, as a pair or by
// number, run in smaller pieces; Summary.Together counts them.
//
// k bad rows of n in b batches take at most k·log2(n) runs and [Overhead]. Each bad row
// costs one failed run of the remaining rows, ⌈log2⌉ of their number to find it, one run
// alone, and a few more until runs are large again.
//
// After the first conviction in a batch, further suspects run alone after all other rows
// of the batch.
//
// # Failures of the command
//
// If the first run fails, Run tries two single rows from different places. If both fail
// in the same way, the command is the cause: Run returns a [CommandError] after three
// runs and sets nothing aside. If (nearly) every row is really bad, set Config.Blame. Run
// repeats this check when three rows in a row were guilty and nothing has worked in
// between; rows that were not passed to SetAside before stay undecided.
//
// Run retries transient failures after a wait, a bounded number of times. If single rows
// from other places fail transiently too, it returns an [OutageError]. It splits a batch
// that takes too long, and blames a row for that only if its half was quick.
//
// # Not guaranteed
//
// A failure that comes and goes by itself may convict a row that met it twice.
// If [Config].Parallel is above 1, Finish is not called in the order of the rows; a
// caller that needs the order must buffer.
package sift
