// Package supervise starts copies of a server as child processes, restarts copies that
// die, and reports for every death how and why it happened. It is the [fleet.Keeper] of
// the workers that Bezoar starts itself.
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
// Every life has its own free port, in PORT and for {port} in the arguments. It is ready
// when its health path answers 2xx or 3xx, or without a path when its port opens. A
// rolling restart starts the successor first and retires the old process only when the
// new one is ready, so a build that does not start costs no worker. The successor gets
// all new work at once. The old process finishes its own work within Drain, in an epoch
// of its own: if it dies of that work, the work is to blame.
//
// # Bake
//
// A process that is ready may still die of its first request. So a rolling restart
// asks each new process to prove itself: to answer [Bake].Requests requests, or to
// be up and well for [Bake].Time. Meanwhile the old process waits beside it without
// new work. When the new one ends or is unhealthy, the old one takes its place back.
//
//	old serves ─► finishes and waits ────────────────────────► stopped
//	                          │  ▲  new process is up             ▲
//	                          ▼  │ it ended or is unhealthy       │ it proved itself
//	                        new serves ───────────────────────────┘
//
// The restart must stop for a bad build, and must not stop for a poisonous request
// that happens to hit a new process. One death cannot tell the two apart; what
// happens next can:
//
//   - A second process is tried. A poisonous request that cannot be sent again kills
//     once and is over; a bad build kills its second process as well.
//   - Work that can be sent again runs alone on a worker of the old version next:
//     one that bakes is not taken as the lane, nor, before a new process has proven
//     itself, one that began with the new version after a death. If the request is
//     poisonous, that worker dies too. If the build is bad, the old version answers it. So the end of
//     a new process is explained when a worker of the old version died after that
//     process had begun.
//   - The restart stops at the second end in one place that nothing explains; it waits
//     two seconds for the explanation. Ends of new processes that had proven
//     themselves in other places before count as well.
//   - It stops at the fourth try in one place in any case: when both versions die,
//     nobody can tell whose fault it is, and this is not the time for a new version.
//   - What processes with explained ends have answered counts for the next one, so
//     that a good build can be deployed while poison is about.
//
// A build passes if it kills less than once in Requests. The bake does not test later
// requests. Without traffic only the time decides.
//
// New settings count as proven when all workers run with them. Until then a worker
// that dies starts with what was proven before. If only the files behind the command
// have changed, the old version exists in the running processes alone. After such a
// restart has stopped, a worker that dies can only start with the new version. It
// waits a minute before each start, while at least half of the others serve.
//
// [Supervisor.Replace] asks for no bake: the new process has the same settings, and
// the old one is about to fail.
//
// # Settings that change
//
// [Supervisor.Update] changes all settings but the name while the workers run. New
// places start. Surplus places, the newest first, drain as for a restart and leave
// the registry; a place that is wanted again before its process was told to end
// goes on. Settings that only a new process can get wait for a restart or a death.
// If no process has started with the new settings yet, a worker that dies tries them
// once. If that fails, it starts with the last settings that worked, so a bad command
// takes down no worker. With a Bake only a restart tries new settings. A change of
// settings during a bake ends the bake, and the restart tries the newest settings.
//
// # Health
//
// A worker that is up is asked for its health path, if there is one, once per
// interval, ±20 %. Three failures in a row are reported to the registry as
// sickness, and two good answers in a row as its end. The registry decides whether a
// sick worker is held out. No worker is killed for its answers. A worker that is held
// out, idle and silent for half a minute is killed.
//
// # Who caused an end
//
// The first that applies: stopped by us (planned); killed by us for hanging (timeout);
// never ready (spawn failed); SIGTERM, SIGINT, SIGHUP, or exit code 143, 130 or 129, by
// which programs report these signals (planned: an operator did it); exit code 0 after
// its health check had answered with a failure (planned: the worker announced it); killed
// while its memory group counted an out-of-memory kill, or with the last words of a
// runtime that ran out of memory (oom). Every other end is a crash. Exit code 0 is a
// crash too, because a request may have called exit. So a server that answers an
// operator's SIGTERM by exit code 0 at once, with work in flight and without a failing
// health check, counts as crashed.
//
// # Guarantees
//
// A child runs in its own process group, without input, and never sees Bezoar's secrets.
// On Linux it dies when Bezoar dies. When it ends, its whole group is killed, and on
// Linux also every process that it left in other sessions. No zombie stays.
// [Supervisor.Check] returns Gone only after Registry.Down. Output is read by line, in
// bounded memory. After the death the supervisor waits for it for at most a quarter of a
// second, even if another process holds the pipe. A hang is ended by SIGKILL at once: the
// evidence is which work was overdue, not a stack dump.
//
// # Goroutines and threads
//
// [Supervisor.Run] returns when every process has been reaped. It owns one goroutine per
// place, five per life, one more per life whose memory it measures, and one thread that
// does all the forking, because the kernel ties Pdeathsig to the thread. An Output that
// never returns keeps the goroutine that called it.
//
// # Limits
//
// Only its place in the process tree ties a process to its worker: a process that
// leaves its session and clears its environment survives, unless Memory gives the
// worker a group. The kernel's memory groups enforce Memory where they are permitted.
// Elsewhere the supervisor looks at a worker's memory twenty times per second and
// kills it above the limit; RLIMIT_DATA, far above, stops a worker that is faster.
//
// A server that forks its own workers is one worker here. The death of one of its
// children shows only as a broken connection.
package supervise
