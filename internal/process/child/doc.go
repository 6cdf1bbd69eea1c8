// Package child runs one job in one isolated child process. It limits the process,
// enforces a deadline from outside, and reports how the job ended. A job is a message,
// a batch of rows or a task.
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
// thread. Where groups are permitted it also has a cell ([cgroup.Cell]) with limits of
// memory and processes. Places are reused; there are as many as there were jobs at
// once. A place is replaced if its cell counts processes that cannot be found, or holds
// memory that its jobs left in files.
//
// # How an end is judged
//
// The first that applies:
//
//   - oom: the kernel killed for memory in the job's own group, or the runner did
//     because there is no group. Not if the job ended well all the same.
//   - timeout: the runner stopped the job because it was overdue. Not if the job exits
//     with 0 and says "done" on descriptor 3.
//   - interrupted: the runner stopped the job to make room. Not if the job reaches exit
//     code 0, 65 or 75, or a class of its own, within the grace.
//   - timeout: the job used up its processor time.
//   - interrupted: the job died of SIGTERM, SIGINT or SIGHUP, and this process gets the
//     same signal within a quarter of a second.
//   - crash: any other signal; unexplained if it is SIGKILL.
//   - By exit code: 0 done, 75 transient, 65 invalid; 126 and 127 of a launcher that
//     found nothing to launch, spawn-failed; any other, bug. Exit code 128+n of a shell
//     is signal n.
//
// With Memory, a bug or crash becomes oom if the last output is that of a runtime that
// ran out of memory. A report on descriptor 3 ([Report]) overrides the exit code, but not
// a signal, a limit or a kill by the runner. A report cannot claim interrupted, and cannot turn a
// failure into done. A report that cannot be read turns exit code 0 into bug: it may
// have said that the job is not done.
//
// # Guarantees
//
//   - A job runs in its own session, without a terminal and without Bezoar's secrets.
//   - Where the system permits it, limits apply before the first instruction: the child
//     of Do sets them between fork and exec ([vfork.Child]), others are held by ptrace.
//     Everywhere they apply before the body is written.
//   - No process that the job started outlives it, even in another session, under
//     another parent or with another environment. No zombie stays.
//   - Jobs that run at the same time are never confused. The runner kills only processes
//     that it holds by a handle, or that are its unreaped children, and that were proven
//     to belong to the job at that time.
//   - If another process holds a pipe open, the runner waits for it at most a quarter of
//     a second.
//   - Output is read as fast as it comes, and only its end is kept. A report of more
//     than 64 KiB is refused, not cut.
//   - If the owner is killed by SIGKILL, its jobs die with it, by Pdeathsig.
//     [Runner.Sweep] of the next owner with the same mark ends what they had started.
//
// # Duties of callers
//
// [Runner.Run] must run. A Job.Stdout or Stderr that blocks delays its job and the
// return of Do. Call [Process.Wait], and read Process.Stdout to its end or close it.
// Two owners that are alive on one machine need two marks.
//
// # Limits
//
// Run makes the whole process a subreaper. Within a minute it collects dead processes
// that left their session and belong to no known job. A library in the same process that
// starts sessions and does not wait for them loses their exit codes.
//
// A set-user-ID program is not held. A held program with file capabilities runs without
// them.
//
// The job ends when its first process ends; processes that this one leaves get no grace.
// CPU is counted per process. Without groups, the runner measures memory twenty times per
// second, processes are limited per user (and not for root, so that a fork bomb meets no
// limit), and kills by the kernel look like other kills. A job that runs as root can
// leave any group.
//
// Outside Linux the only limit is Timeout, and only the process group is ended; on
// Windows only the process.
package child
