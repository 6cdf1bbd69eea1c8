// Package rate decides whether something still fits into a limit over time. It
// is pure: the time is an argument, in nanoseconds since 1970, and the state of
// a key is a few words that the caller keeps and guards, so that a million of
// them can lie side by side.
//
// There are two ways to count, with one form of answer:
//
//   - [Window]: at most Limit in Per, whatever the pattern. Counts are kept in
//     Buckets+1 buckets; what has half left the window is weighed.
//   - [Bucket]: Burst at once, and Limit per Per in the long run. It keeps one
//     instant.
//
// Neither has states to draw: both only forget as time passes, and a state of
// zeros is a key that nothing is known about.
//
// # The window, and its error
//
//	        oldest       the newest Buckets of them
//	    ├────────────┼────────────┼────────────┼─────░░░░░░┤
//	        ├────────────── Per ────────────────────┤
//	        ↑ f is left of the oldest               ↑ now
//
//	Used = f × oldest + all newer ones
//
// This is the sliding window counter, as published by Cloudflare in 2017 ("How
// we built rate limiting capable of scaling to millions of domains"), for any
// number of buckets. It supposes that the oldest bucket, of the length
// w = Per/Buckets, was filled evenly. Let T be what truly came within the last
// Per, and c what is in the oldest bucket. Then
//
//	-(1-f)·c ≤ Used - T ≤ f·c, rounded up
//
// and both ends are reached: nothing better can be said of these counts. As c
// is what came in one bucket's time, more buckets make the error smaller for
// all but bursts. From this follows what a caller gets who is refused whenever
// Used + n > Limit:
//
//   - in any Per, at most Limit + m, where m ≤ Limit is the most that was taken
//     in any one bucket: Limit·(1 + 1/Buckets) for even traffic, up to, and not
//     above, twice Limit for the worst burst, however many buckets there are;
//   - in any Per·(1-1/Buckets), at most Limit: with 5 buckets, no burst gets
//     more in four fifths of the time;
//   - in k times Per, at most (k+1) × Limit;
//   - nobody is refused who, with the charge, took at most Limit within the
//     last Per·(1+1/Buckets).
//
// # The token bucket, and its error
//
// This is the generic cell rate algorithm (ITU-T I.371, annex A, the virtual
// scheduling form): the state is the instant at which the bucket is full again.
// It counts in 2⁻³² ns and rounds towards the caller by less than one such step
// a charge: at the highest rate, 10¹² a second, that is 3·10⁻⁷ of the rate.
// Otherwise it is exact. In any time t it lets through at most
// Burst + Limit·t/Per.
//
// # Clocks
//
// A clock that stands or steps back gives nothing away twice, and harms
// nobody for long: a window stays where it is until the clock has caught up,
// and starts anew after a step of more than its length; a token bucket lets
// nobody wait for more than [Bucket.Longest].
//
// # Bounds
//
// Counts stop growing at 2⁶⁰. Nothing allocates.
package rate
