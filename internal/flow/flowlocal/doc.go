// Package flowlocal runs flows over a state directory on this machine, without a server,
// for `bezoar flow run`.
//
// A state directory holds one SQLite file, the logs of attempts, and, while a process
// runs it, a Unix socket with the API of flows. One process at a time runs a directory. A
// second process gets [ErrInUse], and reaches the first one by [Dial]. Only the owner of
// the directory can open it and its socket.
//
// If a process was killed, the next one that runs the directory continues the attempts,
// or proves that they are gone.
package flowlocal
