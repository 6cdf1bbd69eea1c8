// Package cron reads schedules in the notation of cron and says when they are due.
//
//	┌───────────── minute        0-59
//	│ ┌─────────── hour          0-23
//	│ │ ┌───────── day of month  1-31
//	│ │ │ ┌─────── month         1-12, jan-dec
//	│ │ │ │ ┌───── day of week   0-7, sun-sat; 0 and 7 are Sunday
//	│ │ │ │ │
//	30 2 * * *
//
// A field is *, or a list of numbers, ranges and steps: 1,15 · mon-fri · */10 ·
// 8-18/2. If both days are restricted, a day that fits one of them is due; a field
// that begins with * restricts nothing. @hourly, @daily (@midnight), @weekly,
// @monthly and @yearly (@annually) are names of the usual ones.
//
// # Daylight saving
//
// A schedule that names hours is due by the wall clock, and each time on it counts
// once. Times that the clock skips in spring are due when it has skipped them, all
// of them together as one. Times that the clock shows twice in autumn are due the
// first time.
//
// A schedule for every hour (* in the hour's field) is due by real time: it is also
// due in the hour that is repeated, and has no time that is skipped.
package cron
