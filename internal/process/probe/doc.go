// Package probe looks at workers from outside: one health request at a time
// ([Probe]), and for workers that somebody else starts, a [fleet.Keeper] that
// decides from such looks when a life began and when it ended
// ([ExternalWorkers]).
//
// # Evidence
//
// ExternalWorkers cannot see a process exit. One broken connection proves nothing: a
// worker may close what it likes. An epoch ends on two independent signals,
// the broken connection that somebody reports through Check and one of these:
//
//   - the next connection is refused, or reset before it carried a byte;
//   - the port is listened on by another socket than before (loopback workers
//     on Linux, from /proc/net/tcp);
//   - where the socket cannot be seen: none of the wire's connections of that
//     epoch stands, and two at least broke within the last interval
//     ([Config.Conns]).
//
// Otherwise it was a fault of that connection and the worker is alive. A worker
// that announces its stop, by answering its health check with a failure or by
// closing its port while it finishes what it has, ends as planned and blames
// nobody. An announcement needs an answer: silence is not one, because silence
// is also what a hang looks like.
//
// # Settings that change
//
// [ExternalWorkers.Update] changes which workers there are, and how they are asked, while
// they are watched. A worker that is taken out gets no new work, finishes what it
// has, ends as planned and leaves the registry; listed again before, it goes on.
//
// # Limits
//
// It cannot kill. A worker that hangs is reported as ended and kept out until it
// answers again. It sees no exit code, no signal and no output. A worker behind
// a process that holds its port open (a container's port proxy, a pre-forking
// server) shows only broken connections.
package probe
