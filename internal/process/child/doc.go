// Package child runs one job in one isolated child process: limits, a deadline
// from outside, and a plain answer to how it ended. It is what a message, a batch
// of rows or a task runs in.
//
// # The life of a job
//
//	take a place ──► fork, held ──► limit ──► release, feed ──► wait
//	(a thread, a     (own session,   (rlimits,  (the body on      │
//	 cell)            clean env)      tag)       stdin)           │
//	                                                              │
//	    deadline, drain ──► SIGTERM to the group ──► grace ──► SIGKILL
//	                                                              │
//	                                                           dead, not reaped
//	                                                              │
//	    ┌──── its number is still its: nobody else can be meant ──┤
//	    │ SIGKILL to the group, to all in its cell, to all that   │
//	    │ bears its tag; orphans come to us and are collected     │
//	    └──── until the cell and our children prove it empty ─────┤
//	                                                              │
//	    place given back ◄── judged ◄── output drained ◄── reaped ┘
//
// A place is a thread to fork from, because the kernel ties Pdeathsig to the
// thread, and where groups are permitted a cell ([cgroup.Cell]) of memory and
// process limits. Places are used again; there are as many as there were jobs at
// once. One whose cell counts processes that nobody can find, or holds memory
// that its jobs have left in files, is made anew.
//
// # How an end is judged
//
// In this order: the kernel killed for memory in the job's own group, or we did
// because there is none (oom), unless the job ended well all the same; we stopped
// it because it was overdue (timeout), unless it exits with 0 and says "done" on
// descriptor 3; we stopped it to make room (interrupted), unless it reaches exit
// code 0, 65 or 75, or a class of its own, within the grace; it used up its
// processor time (timeout); SIGTERM, SIGINT or SIGHUP that we get as well within a
// quarter of a second (interrupted); any other signal (crash; unexplained if it is
// SIGKILL); exit code 0 (done), 75 (transient), 65 (invalid), 126 and 127 of a
// launcher that found nothing to launch (spawn-failed), any other (bug). Exit code
// 128+n of a shell is signal n.
//
// With Memory, the last words of a runtime that ran out of memory make an oom of
// a bug or crash. What the child says on descriptor 3 ([Report]) goes before its
// exit code, and never before a signal, a limit or our own kill. It cannot call
// itself interrupted, and cannot talk a failure into done. What cannot be read
// there makes a bug of exit code 0: it may have said that it is not done.
//
// # Guarantees
//
// A job runs in its own session, without a terminal, without Bezoar's secrets.
// Where the system permits to hold it (ptrace), its limits apply before its first
// instruction; everywhere before its body is written. Nothing that it starts
// outlives it, whatever session, parent or environment that has, and no zombie
// stays. Jobs that run at the same time are never taken for one another: what is
// killed is held by a handle, or is our unreaped child, and was proven to be the
// job's while it was. Nobody waits for a pipe that somebody else holds longer than a quarter
// of a second. Output is read as fast as it comes and only its end is kept; a
// report of more than 64 KiB is refused, not cut.
//
// After a kill -9 of the owner its jobs die with it, by Pdeathsig, and [Runner.Sweep]
// of the next owner of the same mark ends what they had started.
//
// # Duties of callers
//
// [Runner.Run] must run. A Job.Stdout or Stderr that blocks holds its job up, and
// Do with it. [Process.Wait] must be called, and Process.Stdout read to its end or
// closed. Two owners alive on one machine need two marks.
//
// # Limits
//
// Run makes the whole process a subreaper. What the dead have left that nobody
// can name is collected within a minute, if it left its session; a library in the
// same process that starts sessions of its own and does not wait for them would
// lose their exit codes then.
//
// A program that gets privilege from its file's mode is not held. One that gets
// it from its file's capabilities runs without.
//
// The end of the job is the end of its first process: what that leaves has no
// grace. CPU is counted per process. Without groups, memory is looked at twenty times
// per second, processes are limited per user (and not at all for root, where a
// fork bomb meets no limit), and the kernel's kills cannot be told from others.
// A job that runs as root can leave any group.
//
// Off Linux there are no limits but Timeout, and only the process group is
// ended; on Windows only the process.
package child
