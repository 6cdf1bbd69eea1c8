// Package trouble says that something which is tried again and again fails,
// without a line in the log for every try.
//
//	         Failed: a line           Passed, long after the last failure: a line
//	well ────────────────► in trouble ────────────────────────────────────► well
//	                         │    ▲
//	                         └────┘
//	                Failed: a line each minute
//
// What is bounded are the lines: one when it begins, one each minute that says
// how often it has failed meanwhile, and one when it is over that says how long
// it took. Trouble that comes back within a minute of the last line is
// counted, and told with the next one. Each failure by itself is logged at level
// debug.
//
// It is for failures of one origin, such as a store that is away, whatever they
// keep from being done: the lines show the latest. Where failures are events of
// their own, each deserves its line.
package trouble
