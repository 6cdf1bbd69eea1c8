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
// A schedule that names hours is due by the wall clock, and each time on the clock counts
// once. If the clock skips due times in spring, they are due once, together, right after
// the gap. If the clock shows a time twice in autumn, it is due the first time.
//
// A schedule for every hour (* in the hour's field) is due by real time: it is also due
// in the repeated hour, and no time is skipped.
package cron
