// Package rate decides whether another request fits into a limit over time. It is pure:
// the time is an argument, in nanoseconds since 1970. The state of a key is a few words
// that the caller keeps and guards, so a million keys can lie side by side.
//
// There are two ways to count, with the same type of result:
//
//   - [Window]: at most Limit in Per, for every pattern of arrivals. Counts are kept in
//     Buckets+1 buckets; the bucket that has partly left the window counts in part.
//   - [Bucket]: Burst at once, and Limit per Per in the long run. It keeps one instant.
//
// Neither has states to draw: both only forget as time passes. A state of zeros is a key
// without history.
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
// Both ends are reached, so these counts allow no better bound. c is what came in one
// bucket's time, so more buckets make the error smaller for all but bursts. A caller that
// is refused whenever Used + n > Limit therefore gets:
//
//   - in any Per, at most Limit + m, where m ≤ Limit is the most that was taken in any
//     one bucket: Limit·(1 + 1/Buckets) for even traffic, and at most twice Limit for the
//     worst burst, for any number of buckets;
//   - in any Per·(1-1/Buckets), at most Limit: with 5 buckets, no burst gets more in four
//     fifths of the time;
//   - in k times Per, at most (k+1) × Limit;
//   - no refusal if, with the charge, it took at most Limit within the last
//     Per·(1+1/Buckets).
//
// # The token bucket, and its error
//
// This is the generic cell rate algorithm (ITU-T I.371, annex A, the virtual scheduling
// form): the state is the instant at which the bucket is full again. It counts in 2⁻³² ns
// and rounds in the caller's favour by less than one such step per charge: at the highest
// rate, 10¹² per second, that is 3·10⁻⁷ of the rate. Otherwise it is exact. In any time t
// it admits at most Burst + Limit·t/Per.
//
// # Clocks
//
// If a clock stands still or steps back, nothing is granted twice, and the harm is
// bounded. A window stays where it is until the clock has caught up, and starts anew
// after a step of more than its length. A token bucket makes no caller wait for longer
// than [Bucket.Longest].
//
// # Bounds
//
// Counts stop growing at 2⁶⁰. Nothing allocates.
package rate
