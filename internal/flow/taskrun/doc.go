// Package taskrun runs the attempts of flows on this machine: commands in isolated
// child processes, functions in this process, sensors, and commands over rows. It is
// the local [flow.Executor].
//
//	Start ──► journal: begun ──► resolve secrets ──► run ──► evidence ──► journal: ended ──► Wait
//	                                                  │
//	                                       logs/TOKEN.log, as it comes
//
// # What is kept where
//
// One process at a time has a state directory. In it are
//
//	lives           the processes that had it and of which something may still run
//	journal, .1     which attempts began, and how they ended
//	logs/TOKEN.log  what an attempt wrote: all of stdout and stderr as it came
//	out/TOKEN       the file that $BEZOAR_OUTPUT names, while it runs
//
// # Guarantees
//
// A token starts at most once, also if the process is killed and the next one is asked to
// start it again. Wait returns when nothing of the attempt runs. It returns the same
// answer again, also after a restart, for as long as the journal goes back: at least 64
// MiB of endings. Absent ends what it finds. After kill -9 of Bezoar, Absent proves that
// nothing of any earlier life runs, by the memory groups, the environment and the tags of
// its processes, before it returns nil. A token that Absent was asked about does not
// start later.
//
// Secrets are read at the start of the attempt. In logs, reasons and outputs their
// values are replaced, if they have at least six bytes.
//
// Logs are written as they come and survive kill -9. A log that is longer than
// 10 MiB keeps its first and its last half; a line between them says how much is
// missing. Logs are synced when the attempt ends.
//
// # Limits
//
// A function runs in this process. Its timeout only ends its context: a function that
// ignores it goes on, and Wait keeps waiting. If the kernel crashes, the journal and the
// logs lose what was written after the last sync; nothing of an attempt can run then.
//
// Outside Linux nothing proves that the descendants of a killed Bezoar are gone.
package taskrun
