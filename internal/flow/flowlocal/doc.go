// Package flowlocal runs flows over a state directory on this machine, without a
// server: it is what `bezoar flow run` does.
//
// A state directory holds one SQLite file, the logs of attempts, and while somebody
// runs it a unix socket with the API of flows. Whoever runs it owns it; a second
// process gets [ErrInUse], and reaches the first one by [Dial]. The directory is
// open to its owner alone, and so is the socket.
//
// What was running when a process was killed goes on, or is proven gone, when the
// next one runs the directory.
package flowlocal
