// Package rowfeed feeds the rows of a file to a command, in batches on its standard
// input, and sees to it that every row is finished or set aside: package sift
// decides, this package does.
//
// What the command writes to its standard output in successful runs goes to the
// output, in the order of the rows; what failed runs write is dropped. What comes
// too early waits in a file.
//
// # Restarts
//
// With Config.State, everything that was finished or set aside, and how much of
// the output belongs to it, is written down and synced, in this order: the
// output, the record. The next Run with the same state cuts the output to what
// is recorded, where it is a regular file, and goes on; so nothing is lost or
// doubled by kill -9 or a power failure. An output that cannot be cut (a pipe)
// may get the newest piece twice. Letters are recorded first and then told; a
// file of letters is searched for those that it has already. What the command of
// the dead Run left behind is killed first.
//
// The state is FILE, beside it FILE.input (what came by a pipe) and FILE.hold
// (output that waits). Two runs cannot have one state at once.
//
// # Bounds
//
// In memory there are at most Parallel batches of BatchBytes, the index of the
// input (package rows), and 1 MiB of output per run; more of it waits in an unlinked
// file, up to MaxOutput. The state grows by a line for each run that worked.
package rowfeed
