// Package procstat reads what the kernel says about a process and the machine
// under it: memory, open files, threads, processor time, pressure, disks.
//
// # Cost
//
// An answer costs a few small files or system calls, and no fork. The package keeps no
// state: a caller who wants a trend keeps the last answer. [Of] takes about 20 µs.
// [GroupOf] reads the table of mounts, so keep its answer for a process that is read often.
//
// # Guarantees
//
// An answer is complete or an error, whatever the files contain. Every read is bounded,
// and no input causes a panic. [ErrUnsupported] means that this system cannot tell:
// everything outside Linux, pressure on a kernel without it, groups where none are
// mounted. It is not a failure: leave that check out and report that it is missing.
//
// # Limits
//
// Calls wait for the kernel. A disk that has gone, above all a network file system, can
// block [Disk] without a limit: call it where waiting is harmless. RSS is the kernel's
// count. It lags by some pages per processor, so that a young process may have 0, and it
// leaves out swapped pages. In a process namespace, ids are those of the mounted /proc.
package procstat
