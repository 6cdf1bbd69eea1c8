// Package sketch finds who causes most of something, in bounded memory: heavy
// hitters among callers whose number and names are in the hands of those who
// call. It is pure: the time is an argument, and the caller holds the lock.
//
// A [Sketch] is the space-saving algorithm (Metwally, Agrawal, El Abbadi,
// "Efficient computation of frequent and top-k elements in data streams", 2005)
// with weights. It has k counters. A key that has one adds to it; a key that has
// none takes the smallest, and with it what that has counted, as its error:
//
//	             has a counter ───────────► count += w
//	key, w ────┤ one is free ─────────────► count = w
//	             none is free: the smallest ► count = min + w, over = min
//
// [Window] is several sketches, one for each slot of time, of which the oldest is
// emptied when its time is over; they are added up when somebody asks.
//
// # Guarantees
//
// With N for all that was added to a window and k for its counters:
//
//   - No count is too high by more than its own Over, and no Over is more than N/k;
//     none is too low. As long as there are no more than k keys in a slot, all
//     counts are exact.
//   - Who has caused more than N/k is listed, whatever the others do. A flood of
//     new keys displaces the small, never the large.
//   - Memory is fixed when it is made, about 110 bytes for each counter; adding
//     allocates nothing and takes O(log k).
//
// # Not guaranteed
//
// Keys are hashes of 64 bits: who can choose colliding ones can be counted as
// somebody else, so hash with a secret seed. Counters whose counts are below N/k may be
// anybody's. The order among keys whose counts differ by less than their errors
// says nothing.
package sketch
