// Package supervise starts copies of a server as child processes, restarts
// those that die, and says of every death how and why it happened. It is the
// [fleet.Keeper] of the workers that Bezoar starts itself.
//
// # The life of a worker's place
//
//	        start              ready               Registry.Up
//	down ──────────► starting ─────────► ready ◄──────────────► draining
//	  ▲                  │ exit, or too     │ exit                  │ idle
//	  │ backoff          │ slow             │                       ▼
//	  └──────────────────┴──────────────────┴────────────────── stopping
//	                                                     TERM, grace, KILL
//
// Every life has a free port of its own, in PORT and for {port} in the
// arguments. It counts as ready when its health path answers 2xx or 3xx, or
// without a path when its port opens. A rolling restart starts the successor
// first and takes the old process away only when the new one is ready, so a
// build that does not start costs no worker.
//
// # Settings that change
//
// [Supervisor.Update] changes all but the name while the workers run. New places
// start; those that are too many, the newest first, drain as for a restart and are
// taken out of the registry, and one that is wanted again before it was told to
// end goes on. What only a new process can get waits for a restart or a death.
// Settings with which nothing has started yet are tried once by those that die,
// which then start with the last that worked: a bad command takes down nobody.
//
// # Health
//
// A worker that is up is asked for its health path, if there is one, once per
// interval, ±20 %. Three failures in a row are reported to the registry as
// sickness, two good answers in a row as its end; the registry decides whether a
// sick worker is held out, and nobody is killed for what it answers. One that is
// held out, idle and silent for half a minute is.
//
// # Whose doing an end was
//
// In this order: stopped by us (planned); killed by us for hanging (timeout);
// never ready (spawn failed); SIGTERM, SIGINT, SIGHUP or the exit codes 143, 130
// and 129 by which programs report them (planned: an operator's doing); exit
// code 0 after its health check had answered with a failure (planned: it
// announced it); killed while its memory group counted an out-of-memory kill,
// or with the last words of a runtime that ran out of memory (oom); everything
// else is a crash, exit code 0 included: a request may have called exit. A
// server that answers an operator's SIGTERM by exit code 0 at once, with work in
// flight and without a failing health check, is therefore taken for a crash.
//
// # Guarantees
//
// A child runs in its own process group, with no input, with Bezoar's death as
// its own (Linux), and never sees Bezoar's secrets. When it ends, its whole group
// is killed, and on Linux whatever it left in other sessions as well. No zombie
// stays. [Supervisor.Check] returns Gone only after Registry.Down. Output is read
// by line, in bounded memory, and never waited for longer than a quarter of a
// second after the death, whoever else holds the pipe. A hang is ended by
// SIGKILL at once: the evidence is which work was overdue, not a stack dump.
//
// # Who waits for what
//
// [Supervisor.Run] returns when every process has been reaped. It owns one
// goroutine per place, five per life, one more per life whose memory it looks
// at, and one thread that does all the forking, because the kernel ties Pdeathsig
// to the thread.
// An Output that never returns keeps the goroutine that called it.
//
// # Limits
//
// The place of a process in the tree is all that ties it to its worker: one
// that leaves its session and clears its environment survives, unless Memory
// gives the worker a group. Memory is enforced by the kernel's memory groups
// where they are permitted; else the supervisor looks at what a worker holds
// twenty times per second and kills it above the limit, and one that outruns
// that meets RLIMIT_DATA far above.
//
// A server that forks workers of its own is one worker here: the death of one of
// its children is a broken connection, and the server's own business.
package supervise
