// Package rowfeed feeds the rows of a file to a command, in batches on its standard
// input, until every row is finished or set aside. Package sift decides which rows run
// next; this package runs them.
//
// The standard output of successful runs goes to the output, in the order of the rows.
// The output of failed runs is dropped. Output that comes too early waits in a file.
//
// # Restarts
//
// With Config.State, Run records which rows were finished or set aside, and how much of
// the output belongs to them. It syncs the output first and the record second. The next
// Run with the same state kills the processes that the dead Run left, cuts the output to
// its recorded length if it is a regular file, and continues. So a kill -9 or a power
// failure neither loses nor doubles output. An output that cannot be cut (a pipe) may get
// its newest piece twice. Letters are recorded first and written second; Run searches a
// file of letters for those that it has already.
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
