// Package accesslog has the record of a request that has ended, and writes lines of it: as
// structured logs, or in the combined format of Apache and nginx. Metrics and lists of who
// costs most are made from the same [Record].
package accesslog
