// Package sqlite implements the engines' stores in one SQLite file.
//
// When a write returns nil, it is on disk: write-ahead log, synchronous=FULL. Writes that
// arrive together share one transaction and one sync (group commit). Reads run in parallel
// on a small pool.
//
// One process owns a file. A second process that opens it gets an error that names the
// first: each would rely on its own cache of the tables. The lock is a file beside the
// database, which the kernel releases however its owner ends. Other programs may read the
// file meanwhile (sqlite3, backups). They must not change a queue or a message: the writer
// keeps in memory which payloads are in flight, wait or have a case, undoes changes when a
// transaction fails, and reads this state only when it opens the file. To share a store
// between machines, use PostgreSQL.
//
// The driver's switches for fdatasync, for locks that survive the closing of other
// descriptors, and for strict pragmas are process-wide. Open turns them on.
package sqlite
