// Package sketch finds the callers that cause most of something (heavy hitters), in
// bounded memory, even if the callers choose their number and names. It is pure: the time
// is an argument, and the caller holds the lock.
//
// A [Sketch] is the space-saving algorithm (Metwally, Agrawal, El Abbadi, "Efficient
// computation of frequent and top-k elements in data streams", 2005) with weights. It has
// k counters. A key with a counter adds to it. A key without one takes the smallest
// counter, and that counter's count becomes the error of the key:
//
//	             has a counter ───────────► count += w
//	key, w ────┤ one is free ─────────────► count = w
//	             none is free: the smallest ► count = min + w, over = min
//
// [Window] is several sketches, one for each slot of time. The oldest is emptied when its
// time is over. A query adds them up.
//
// # Guarantees
//
// N is all that was added to a window; k is the number of counters:
//
//   - No count is too high by more than its own Over, and no Over is more than N/k. No
//     count is too low. As long as there are no more than k keys in a slot, all counts
//     are exact.
//   - A key that has caused more than N/k is always listed. A flood of new keys displaces
//     small counters, never large ones.
//   - Memory is fixed when it is made, about 110 bytes for each counter; adding allocates
//     nothing and takes O(log k).
//
// # Not guaranteed
//
// Keys are hashes of 64 bits: a caller that can choose a colliding key is counted as
// somebody else, so hash with a secret seed. A counter below N/k may belong to any key.
// The order among keys whose counts differ by less than their errors means nothing.
package sketch
