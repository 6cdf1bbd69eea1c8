// Package initproc makes the first process of a container collect orphans, which only
// this process can do.
//
// When a parent dies, the kernel gives its children to the first process of their PID
// namespace. If nobody collects them when they end, they stay zombies and use up process
// ids until none is left. A program that waits for its own children cannot collect all
// others as well without taking the results of its own. So the first process starts the
// same program again, and then only collects orphans and passes on signals. It ends when
// that program ends, with the same exit code or signal.
//
// If an init such as tini or docker's --init is the first process, nothing is started
// twice.
package initproc
