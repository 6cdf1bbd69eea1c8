// Package journal remembers what was in flight when the process died, so that
// work which kills Bezoar itself is recognised at the next start.
//
// It is a small file mapped into memory: a header and one slot of 64 bytes
// for each piece of work in flight. Begin and End write to memory and nothing
// else: no system call, no lock, no allocation. The kernel keeps the pages when
// the process dies, however it dies.
//
// What it does not do: survive a power failure or a kernel's crash. After a
// restart of the machine nothing is reported; that death was nobody's work. Nor
// are records reported after Close: a stop that was asked for blames nobody.
// Records are handed out once.
//
// Put the file on a local file system, best on one of memory (/run, /dev/shm):
// on a disk under load, the kernel may stall a write to a page that it is just
// saving. Nobody else may truncate the file while it is open; a write to a page
// that is gone kills the process.
package journal
