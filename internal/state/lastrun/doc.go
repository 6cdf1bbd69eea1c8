// Package lastrun says how the last run of this program ended: it stopped in
// order, the Go runtime ended it (a panic, a fatal error), the kernel killed it
// for memory, or nobody knows. A kill from outside and a power failure leave no
// evidence, so they are unknown.
//
// It keeps one file in a folder, crash.txt. The file's head says which run wrote
// it, how many out-of-memory kills the kernel had counted in the run's group, and
// whether the run stopped in order. The Go runtime writes the text of a crash
// behind the head ([runtime/debug.SetCrashOutput]). The next run reads both,
// copies the text to crash.last.txt, and begins the file anew.
//
// # Guarantees
//
// [Open] always returns a run. If the file is a link, a pipe, somebody else's, damaged,
// in use by another process, or in a folder that cannot be written, Open returns
// [Unknown] and a note, never an error: the file must not prevent a start. The answer
// does not depend on clocks. Reads and reports are bounded. Reported lines contain no
// arguments of functions, no control characters, and no secrets that their form or
// [Config.Secrets] reveals.
//
// # Not guaranteed
//
// crash.last.txt holds the runtime's text unchanged, in mode 0600. The kernel counts
// kills of a group, not of a process: if another process of the group was killed shortly
// before this one, that kill counts as evidence. [Run.Look] keeps this interval short. If
// the group is made anew between two runs, as container runtimes and systemd do, its
// count is lost and the answer is Unknown. Anybody who can write to the folder can write
// any answer.
//
// The runtime has one crash output for each process, so only one open run of a
// process may ask for it.
package lastrun
