// Package initproc makes the first process of a container do what only it can: it
// collects orphans.
//
// The kernel gives processes whose parent has died to the first process of their
// PID namespace. If nobody collects them when they end, they stay zombies, and take
// up process ids until there are none. A program that also waits for children of
// its own cannot collect all others beside that without taking away what it waits
// for. So the first process starts the same program again and does nothing but
// collect, and pass on signals. It ends when that program ends, as that ended.
//
// Where an init such as tini or docker's --init is the first process, nothing is
// started twice.
package initproc
