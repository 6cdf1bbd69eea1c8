// Package lane decides in which order suspects run on a drained worker, and which
// of them may run together. It is pure.
//
// Few suspects run one after the other, each alone ([Pick]). Many would wait too
// long for that: then they start one shortly after the other and run beside each
// other ([Next]). Most killers kill soon after their start, so a death falls on the
// last that started; these start first next, with time around each so that a death
// is seen to be its doing, and the others go on. When those ran clean, the killer is
// slow: everything that died together runs in company of half
// the size from then on, so that one slow killer among n costs at most 1+log2(n)
// workers (Hwang's binary splitting, 1972).
package lane

import (
	"slices"
	"time"
)

// BatchBelow is the score below which proven work may share a batch.
const BatchBelow = 1.0 / 8

// MaxBatch bounds how much runs together.
const MaxBatch = 64

// Patience is how long work lets more suspicious work go first.
const Patience = 2 * time.Second

// latePatience is how long work that takes time behind it lets more suspicious work of its
// kind go first. Each run takes a worker for seconds: in the order of arrival the killer
// would come last as often as first, and all others wait with it.
const latePatience = 10 * time.Second

// Entry is one piece of work that waits for the lane.
type Entry struct {
	Score  float64   // blame so far
	Proven bool      // has succeeded often before
	Single bool      // must run alone: a probe, or it was in a batch that crashed
	Died   int       // workers that died on it in the lane so far
	Since  time.Time // when it began to wait
	Limit  int       // how much may run together where it runs, itself included; 0: as much as may
	Late   bool      // it may kill after its answer, and takes the worker's time behind it: it goes last
	Ran    int       // how often its caller had the lane lately: who had it less goes first
	Likely float64   // its share in the death of its company, if it is one of few that may have killed
	// Hold is how long it must be the last that started, and how long before it
	// nothing may have started: a death is then its doing. 0: as long as the delay.
	Hold time.Duration
}

// batchable reports whether e may share the lane. Work that has never
// succeeded always runs alone, so that a pill hidden among many suspects costs
// one more worker and not two.
func (e *Entry) batchable() bool { return e.Proven && !e.Single && e.Score < BatchBelow }

// Pick returns the indices of the entries to run next, together: the most
// suspicious one alone, or, when only little is held against the rest or they
// have waited for [Patience] and longer than it, up to [MaxBatch] of them at
// once, longest wait first. Among those that run alone, too, who has waited for
// Patience comes before who is more suspicious: a stream of pills must not keep
// innocents from their turn. It returns nil for no entries. dst is reused for
// the answer.
func Pick(now time.Time, entries []Entry, dst []int) []int {
	dst = dst[:0]
	single, oldest := -1, -1
	for i := range entries {
		e := &entries[i]
		if e.batchable() {
			dst = append(dst, i)
			if oldest < 0 || e.Since.Before(entries[oldest].Since) {
				oldest = i
			}
			continue
		}
		if single < 0 || before(now, e, &entries[single]) {
			single = i
		}
	}
	if single >= 0 && (oldest < 0 || !entries[oldest].overdue(now) || !entries[oldest].Since.Before(entries[single].Since)) {
		return append(dst[:0], single)
	}
	slices.SortStableFunc(dst, func(a, b int) int { return entries[a].Since.Compare(entries[b].Since) })
	return dst[:min(len(dst), MaxBatch)]
}

func (e *Entry) overdue(now time.Time) bool { return now.Sub(e.Since) >= Patience }

// ripe reports whether e has waited for so long that others are no longer let in first.
func (e *Entry) ripe(now time.Time) bool {
	if e.Late {
		return now.Sub(e.Since) >= latePatience
	}
	return e.overdue(now)
}

// before orders work that runs alone: what has not killed the lane yet comes
// first, since its success tells a sick fleet from sick work; then the likeliest
// killer of its company; then what needs no time behind it; then what has waited for
// Patience, or for latePatience; then the highest score, then the longest wait.
func before(now time.Time, a, b *Entry) bool {
	if a.Died != b.Died {
		return a.Died < b.Died
	}
	if a.Likely != b.Likely {
		return a.Likely > b.Likely
	}
	if a.Late != b.Late {
		return b.Late
	}
	ripe := a.ripe(now)
	if ripe != b.ripe(now) {
		return ripe
	}
	if !ripe && a.Score != b.Score {
		return a.Score > b.Score
	}
	if a.Ran != b.Ran {
		return a.Ran < b.Ran
	}
	return a.Since.Before(b.Since)
}

// Bounds of staggered starts.
const (
	crowdWait  = 2 * time.Second        // expected wait from which suspects run beside each other
	drainGoal  = 3 * time.Second        // time in which all of them should have started
	leastDelay = 2 * time.Millisecond   // between two starts
	mostDelay  = 100 * time.Millisecond // …; the suspicion has halved four times then
)

// Bounds of the time around work that may have killed in company.
const (
	decisive  = 0.75 // share of the blame from which it runs alone, on a clean worker
	leastHold = 250 * time.Millisecond
	mostHold  = 5 * time.Second
)

// Doubt says how one of the few that may have killed a lane worker runs again: alone if
// it has most of the blame, and otherwise with time around it, twice as long as it ran
// before, so that a death is seen to be its doing and the others wait no longer than that.
// again says that it ran with time around it already: the many that run beside it have little
// of the blame each, and together so much that it never has most.
func Doubt(share float64, ran time.Duration, again bool) (single bool, hold time.Duration) {
	if share >= decisive || again {
		return true, 0
	}
	return false, min(mostHold, leastHold+2*ran)
}

// How long an answer that streams keeps a lane worker.
const (
	watched       = 0.25 // of the blame for one death, from which it is watched for as long as any answer is
	settled       = 300 * time.Millisecond
	settledSlowly = time.Second
)

// Settled returns how long an answer must have been streaming for its worker to go back to
// the fleet with it, by the work's largest share of the blame for one death. It may never
// end, so that it cannot be waited for; but what has much of the blame has to outlive the
// observation window: else it kills among others.
func Settled(share float64) time.Duration {
	if share >= watched {
		return settledSlowly
	}
	return settled
}

// Running is what runs on one lane worker.
type Running struct {
	Count     int
	Exclusive bool          // nothing may start beside it
	Limit     int           // the smallest limit among what runs; 0: none
	Last      time.Time     // when the last of it started
	Hold      time.Duration // that one's
}

// Crowded reports whether suspects that take so long together, one after the other
// on lanes workers, would wait too long.
func Crowded(expected time.Duration, lanes int) bool {
	return expected/time.Duration(max(1, lanes)) >= crowdWait
}

// Delay is the time between two starts on one of lanes workers.
func Delay(waiting, lanes int) time.Duration {
	return min(mostDelay, max(leastDelay, drainGoal*time.Duration(max(1, lanes))/time.Duration(max(1, waiting))))
}

// Next returns what starts now on a lane worker where run runs: on an empty one
// what [Pick] says, or, in a crowd, one that may have company. exclusive says that
// nothing may start beside it. When nothing starts, after says when to ask again if
// nothing happens; 0 means that only an event will tell.
func Next(now time.Time, entries []Entry, run Running, crowded bool, delay time.Duration, dst []int) (idx []int, exclusive bool, after time.Duration) {
	if run.Count == 0 {
		idx = Pick(now, entries, dst)
		if len(idx) == 1 {
			e := &entries[idx[0]]
			exclusive = !crowded && e.Hold == 0 || e.Single || e.Limit == 1
		}
		return idx, exclusive, 0
	}
	if run.Exclusive || run.Limit > 0 && run.Count >= run.Limit {
		return nil, false, 0
	}
	best := -1
	for i := range entries {
		if best < 0 || before(now, &entries[i], &entries[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil, false, 0
	}
	// What must run alone, or in less company, does so when this has run empty.
	e := &entries[best]
	if e.Single || e.Limit > 0 && run.Count >= e.Limit || !crowded && e.Hold == 0 {
		return nil, false, 0
	}
	if wait := max(delay, e.Hold, run.Hold) - now.Sub(run.Last); wait > 0 {
		return nil, false, wait
	}
	return append(dst[:0], best), false, 0
}
