// Package rows says where the rows of a file begin and end, so that any of them
// can be read again without holding the file in memory.
//
// A row is a line (Lines), a line that is not blank (NDJSON), or a record of
// RFC 4180 (CSV), whose quoted fields may hold line ends. A byte order mark at
// the beginning belongs to no row. CSV's first record is the header and no row.
// Rows are taken as they are: what is in them is not checked, except where
// CSV's quotes leave open where a row ends.
//
// An [Index] keeps one place for every 256 rows or MiB: 24 bytes each. Where rows
// lie between is found by reading on from there.
package rows
