package sqlite

import "time"

// Points are those at which tests may kill the process.
func Points() []string {
	return []string{string(beforeCommit), string(afterCommit), string(inClaim), string(inMove), string(beforeCursor)}
}

// At has f told how far each transaction has come. Nothing may have been
// written yet.
func (db *DB) At(f func(point string)) {
	db.writer.at = func(p point) { f(string(p)) }
}

// AgeNodes makes what is known of nodes older by d.
func (db *DB) AgeNodes(d time.Duration) {
	before := db.live.now
	db.live.now = func() time.Time { return before().Add(d) }
}

// Forked makes other descriptors of the locked files, as a child process has them
// that is being started.
func (db *DB) Forked() (lock, file uintptr) { return db.lock.Fd(), db.file.Fd() }
