// Package handover keeps listening sockets open while a new process of Bezoar replaces an
// old one. Callers that connect meanwhile wait in the kernel's queue and are not refused.
//
// Sockets come from one of two places. A service manager such as systemd opens them and
// gives them to each process that it starts (LISTEN_FDS). Or the old process offers its
// own sockets on a Unix socket in the state directory, which only its user can enter. The
// new process takes them from there and waits until the old one has released everything.
// The old one keeps copies of the sockets until the new one says that it serves. If the
// new one ends before, however it ends, the old one serves again.
//
// Not guaranteed: connections that the old process has accepted stay its own, and new
// callers get no answer before the new process serves.
package handover
