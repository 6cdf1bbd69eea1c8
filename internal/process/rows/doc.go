// Package rows finds where the rows of a file begin and end, so that any row can be read
// again without holding the file in memory.
//
// A row is a line (Lines), a line that is not blank (NDJSON), or a record of RFC 4180
// (CSV), whose quoted fields may contain line ends. A byte order mark at the beginning
// belongs to no row. The first record of CSV is the header and no row. The content of
// rows is not checked, except where CSV's quotes leave open where a row ends.
//
// An [Index] keeps one position for every 256 rows or MiB: 24 bytes each. To find a row
// between two positions, it reads on from the first one.
package rows
