// Package journal remembers which work was in flight when the process died, so that the
// next start recognises work that kills Bezoar itself.
//
// It is a small file mapped into memory: a header and one slot of 64 bytes for each piece
// of work in flight. Begin and End only write to memory: no system call, no lock, no
// allocation. The kernel keeps the pages when the process dies, however it dies.
//
// It does not survive a power failure or a kernel crash. After a restart of the machine
// nothing is reported, because no work caused that death. Nothing is reported after Close
// either, because a requested stop blames nobody. Records are returned once.
//
// Put the file on a local file system, best on one in memory (/run, /dev/shm). On a busy
// disk, the kernel may stall a write to a page that it is saving. Nobody else may
// truncate the file while it is open: a write to a page that is gone kills the process.
package journal
