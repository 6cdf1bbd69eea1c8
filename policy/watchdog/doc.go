// Package watchdog decides which worker is about to fail and may be restarted before it
// does: a worker that fills its memory, or leaks descriptors or threads. It is pure: the
// time and the measurements are arguments, and the caller holds the lock.
//
// # One worker
//
//	      above a limit        for For, three samples in a row
//	ok ─────────────────► over ───────────────────────────────► due
//	 ▲ ▲                    │                                    │ the rules allow it
//	 │ └────────────────────┘ below it                           ▼
//	 │                                 Done                 restarting
//	 └───────────────────────────────────────────────────────────┘
//
//	due ──► gave-up   Strikes restarts in a row did not help
//	gave-up ──► ok    by Clear, or after Calm without a breach
//
// # The rules
//
// A worker that is due waits, and its status gives the reason, while
//
//   - something holds the whole fleet, such as a rollout;
//   - another is being restarted: one at a time;
//   - fewer than two workers serve;
//   - more than Share of the fleet would be away (one worker is always allowed if all the
//     others serve);
//   - it has been up for less than MinUptime, doubled for each restart that did not help,
//     up to MaxBackoff;
//   - PerHour restarts were made in the last hour.
//
// A restart did not help when the worker is due again within Soon: the longest of
// MinUptime, twice For, and the average life at PerHour restarts. After Strikes such
// restarts in a row the watchdog gives up on that worker. When the budget of the hour is
// spent, half of it on restarts that did not help, it gives up on the whole fleet. Both
// are alarms: nothing is restarted until somebody clears them or Calm has passed without
// a breach. A budget spent on restarts that helped is an alarm too, but only delays the
// next restart.
//
// # Growth
//
// The memory of a life is cut into blocks of a 24th of Window. Each block keeps its
// lowest and highest sample. Growth is the median of the slopes between all pairs of the
// lows (the estimator of Theil and Sen), in bytes per hour. It counts only when
// hour, and counts only when
//
//   - the window is full, and three blocks in four have samples;
//   - the lows of its four quarters rise three times, and no rise is much smaller than
//     the others (the floor of a sawtooth is flat, and a step rises once);
//   - the second half grows at least at 0.6 times the rate of the first, by four standard
//     errors (a cache that fills up slows down);
//   - the whole rise is larger than noise: 4 MiB, a hundredth of the level, and the swing
//     within a quarter of the window.
//
// So memory that a collector frees in periods of up to half a Window never counts. A
// start that is over within half a Window, or that levels off with a time constant of
// that, never counts either. A steady leak above the limit is found at the end of the
// first Window. If the noise is a seventh of what the leak adds in a Window, it is found
// within another Window. The properties in the package's tests check that, at 96 samples
// per Window and more. A leak that is small beside the swing around it is not found; the
// limit of Memory covers that case. A sawtooth or a start that is slower than half a
// Window looks like a leak, and within the Window nothing tells them apart.
//
// # Bounds
//
// 1.5 KiB per worker. A step costs a few comparisons per worker, and once per
// block about 4 µs.
package watchdog
