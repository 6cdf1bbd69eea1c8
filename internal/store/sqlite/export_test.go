package sqlite

// Points are those at which tests may kill the process.
func Points() []string {
	return []string{string(beforeCommit), string(afterCommit), string(inClaim), string(inMove), string(beforeCursor)}
}

// At has f told how far each transaction has come. Nothing may have been
// written yet.
func (db *DB) At(f func(point string)) {
	db.writer.at = func(p point) { f(string(p)) }
}
