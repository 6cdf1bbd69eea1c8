// Package errlog limits how often the log repeats an error of an operation that is retried
// again and again.
//
//	         Failed: a line           Passed, long after the last failure: a line
//	well ─────────────────► failing ──────────────────────────────────────► well
//	                         │    ▲
//	                         └────┘
//	                Failed: a line each minute
//
// The log gets one line when failures begin, one per minute with the number of failures so
// far, and one at the end with the duration. If failures return within a minute of the last
// line, they are counted, and the next line has the number. Level debug logs every failure.
//
// Use a Limiter for failures with one cause, such as an unreachable store: a line shows
// only the latest error.
package errlog
