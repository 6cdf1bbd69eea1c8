// Package handover keeps listening sockets open while one process of Bezoar
// follows another, so that callers who come meanwhile wait in the kernel's queue
// and are not refused.
//
// Sockets come from one of two places. A service manager such as systemd opens
// them and gives them to each process that it starts (LISTEN_FDS). Or the process
// before hands over its own: it offers them on a Unix socket in the state
// directory, which only its user can enter, and the one that follows takes them
// from there, and waits until the other has let go of everything.
//
// What it does not promise: connections that the process before has accepted stay
// its own, and nobody is answered before the one that follows serves.
package handover
