// Package probe looks at workers from outside. [Probe] sends one health request at a
// time. [ExternalWorkers] is a [fleet.Keeper] for workers that somebody else starts: it
// decides from such requests when a life began and when it ended.
//
// # Evidence
//
// ExternalWorkers cannot see a process exit. One broken connection proves nothing,
// because a worker may close any connection. An epoch ends on two independent signals:
// the broken connection that somebody reports through Check, and one of these:
//
//   - the next connection is refused, or reset before it carried a byte;
//   - the port is listened on by another socket than before (loopback workers
//     on Linux, from /proc/net/tcp);
//   - if the socket cannot be seen: none of the wire's connections of that epoch is left,
//     and at least two broke within the last interval ([Config.Conns]).
//
// Otherwise only that connection failed and the worker is alive. A worker can announce
// its stop: it answers its health check with a failure, or closes its port while it
// finishes its work. Then its epoch ends as planned and blames nobody. Silence is no
// announcement, because a hang is silent as well.
//
// # Settings that change
//
// [ExternalWorkers.Update] changes the list of workers and the health requests while the
// workers are watched. A worker that is removed gets no new work, finishes its work, ends
// as planned and leaves the registry. If it is listed again before that, it goes on.
//
// # Limits
//
// It cannot kill. A worker that hangs is reported as ended and kept out until it answers
// again. ExternalWorkers sees no exit code, no signal and no output. If another process
// holds a worker's port open (a container's port proxy, a pre-forking server), only
// broken connections are visible.
package probe
