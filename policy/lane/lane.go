// Package lane decides in which order suspects run on a drained worker, and which of them may run together. It is pure.
//
// Few suspects run one after the other, each alone ([Pick]). If there are many, that would take too long: then they start
// shortly after each other and run in company ([Next]). Most killers kill soon after their start, so a death falls on the
// suspects that started last. These start first the next time, with time around each, so that a death can be assigned to
// one of them. If they all run clean, the killer is slow: then everything that died together runs in company of half the
// size. So one slow killer among n costs at most 1+log2(n) workers (Hwang's binary splitting, 1972).
package lane

import (
	"slices"
	"time"
)

// BatchBelow is the score below which proven work may share a batch.
const BatchBelow = 1.0 / 8

// MaxBatch bounds how much work runs together.
const MaxBatch = 64

// Patience is how long work lets more suspicious work go first.
const Patience = 2 * time.Second

// latePatience is how long late work lets more suspicious late work go first. Late work may kill after its answer, so each
// run takes a worker for seconds. In the order of arrival the killer would come last as often as first, and all others
// would wait for it.
const latePatience = 10 * time.Second

// Entry is one piece of work that waits for the lane.
type Entry struct {
	Score  float64   // blame so far
	Proven bool      // has succeeded often before
	Single bool      // must run alone: a probe, or it was in a batch that crashed
	Died   int       // workers that died on it in the lane so far
	Since  time.Time // when it began to wait
	Limit  int       // how much may run with it, including itself; 0: no limit
	Late   bool      // it may kill after its answer, so it needs the worker for longer: it goes last
	Ran    int       // how often its caller has used the lane lately: callers with fewer uses go first
	Likely float64   // its share in the death of its company, if it is one of the few likely killers
	// Hold is the time around its start: nothing may start this long after it, and nothing may have started this long
	// before it. So a death can be assigned to it. 0: the normal delay.
	Hold time.Duration
}

// batchable reports whether e may share the lane. Work that has never succeeded always runs alone, so that a pill among
// many suspects costs one more worker and not two.
func (e *Entry) batchable() bool { return e.Proven && !e.Single && e.Score < BatchBelow }

// Pick returns the indices of the entries to run next, together. Usually it is only the most suspicious one. If the others
// have little blame, or have waited for [Patience] and longer than it, it is up to [MaxBatch] of them, longest wait first.
// Among work that runs alone, work that has waited for Patience comes before more suspicious work: a stream of pills must
// not keep innocents from their turn. It returns nil for no entries. dst is reused for the result.
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

// ripe reports whether e has waited for so long that no other work goes before it.
func (e *Entry) ripe(now time.Time) bool {
	if e.Late {
		return now.Sub(e.Since) >= latePatience
	}
	return e.overdue(now)
}

// before orders work that runs alone. First comes work that has not killed the lane yet, because its success tells a sick
// fleet from sick work. Then, in this order: the likeliest killer of its company; work that needs no time after it; work
// that has waited for Patience or latePatience; the highest score; the longest wait. Late work that has killed does not go
// behind other late work: all of that together would take too long.
func before(now time.Time, a, b *Entry) bool {
	if a.Died != b.Died && !(a.Late && b.Late) {
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
	crowdWait  = 2 * time.Second        // expected wait from which suspects run in company
	drainGoal  = 3 * time.Second        // time in which all of them should have started
	leastDelay = 2 * time.Millisecond   // between two starts
	mostDelay  = 100 * time.Millisecond // also between two starts; the suspicion has halved four times by then
)

// Bounds of the time around work that may have killed in company.
const (
	decisive  = 0.75 // share of the blame from which work runs alone, on a clean worker
	leastHold = 250 * time.Millisecond
	mostHold  = 5 * time.Second
)

// Doubt says how one of the few possible killers of a lane worker runs again. With most of the blame it runs alone.
// Otherwise it runs with time around it, twice as long as it ran before, so that a death can be assigned to it and the
// others wait no longer than that. again says that it has already run with time around it: then the many that run with it
// have so much blame together that it never has most of it.
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

// Settled returns how long an answer must have been streaming for its worker to go back to the fleet with it. share is the
// work's largest share of the blame for one death. The answer may never end, so the lane cannot wait for its end. But work
// with much of the blame must outlive the observation window, because otherwise it would kill in company.
func Settled(share float64) time.Duration {
	if share >= watched {
		return settledSlowly
	}
	return settled
}

// Running describes the work on one lane worker.
type Running struct {
	Count     int
	Exclusive bool          // nothing else may start
	Limit     int           // the smallest limit of the running work; 0: none
	Last      time.Time     // when the newest of it started
	Hold      time.Duration // of the newest
}

// Crowded reports whether suspects that take expected together, one after the other on lanes workers, would wait too long.
func Crowded(expected time.Duration, lanes int) bool {
	return expected/time.Duration(max(1, lanes)) >= crowdWait
}

// Delay returns the time between two starts on one of lanes workers.
func Delay(waiting, lanes int) time.Duration {
	return min(mostDelay, max(leastDelay, drainGoal*time.Duration(max(1, lanes))/time.Duration(max(1, waiting))))
}

// Next returns what starts now on a lane worker with the running work run: on an empty worker the result of [Pick] or, in a
// crowd, one entry that may have company. exclusive says that nothing else may start with it. If nothing starts, after says
// when to ask again; 0 means that only an event can change that.
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
	// An entry that must run alone, or in less company, starts when the worker is empty.
	e := &entries[best]
	if e.Single || e.Limit > 0 && run.Count >= e.Limit || !crowded && e.Hold == 0 {
		return nil, false, 0
	}
	if wait := max(delay, e.Hold, run.Hold) - now.Sub(run.Last); wait > 0 {
		return nil, false, wait
	}
	return append(dst[:0], best), false, 0
}
