// Package sqlite keeps what the engines store in one SQLite file.
//
// A write that has returned nil is on the disk: write-ahead log,
// synchronous=FULL. Writes that arrive together share one transaction and one
// sync of the disk (group commit); reads run beside them on a small pool.
//
// One process owns a file. A second one that opens it is refused, naming the
// first: two would each trust what they remember of the tables. The lock is a
// file beside the database, released by the kernel however its owner ends.
// Other programs may read the file meanwhile (sqlite3, backups). None may change
// a queue or a message: which payloads are in flight, wait or have a case is
// held in memory by the writer, is taken back when a transaction fails, and is
// read from the file only when it is opened. Many machines share a PostgreSQL
// instead.
//
// The driver's switches for fdatasync, for locks that survive other people's
// closes, and for strict pragmas are process-wide; Open turns them on.
package sqlite
