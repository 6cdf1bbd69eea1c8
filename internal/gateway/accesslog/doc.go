// Package accesslog defines the [Record] of a request that has ended, and writes log
// lines from it: structured logs, or the combined format of Apache and nginx. Metrics and
// lists of the most expensive callers are made from the same Record.
package accesslog
