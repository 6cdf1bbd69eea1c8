// Package errlog limits how often the log repeats an error: of an operation that
// is retried again and again, not every failure gets a line.
//
//	         Failed: a line           Passed, long after the last failure: a line
//	well ─────────────────► failing ──────────────────────────────────────► well
//	                         │    ▲
//	                         └────┘
//	                Failed: a line each minute
//
// There is one line when failures begin, one each minute that says how often the
// operation has failed meanwhile, and one at the end that says how long it took.
// Failures that come back within a minute of the last line are counted, and the
// next line says how many. Level debug has a line for every failure.
//
// Use it for failures of one origin, such as a store that is unreachable: a line
// shows the latest error only.
package errlog
