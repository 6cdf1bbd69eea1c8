// Package lane decides in which order suspects run on the one drained worker,
// and which of them may run together. It is pure.
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

// Entry is one piece of work that waits for the lane.
type Entry struct {
	Score  float64   // blame so far
	Proven bool      // has succeeded often before
	Single bool      // must run alone: a probe, or it was in a batch that crashed
	Died   int       // workers that died on it in the lane so far
	Since  time.Time // when it began to wait
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

// before orders work that runs alone: what has not killed the lane yet comes
// first, since its success tells a sick fleet from sick work; then what has
// waited for Patience; then the highest score, then the longest wait.
func before(now time.Time, a, b *Entry) bool {
	if a.Died != b.Died {
		return a.Died < b.Died
	}
	ripe := a.overdue(now)
	if ripe != b.overdue(now) {
		return ripe
	}
	if !ripe && a.Score != b.Score {
		return a.Score > b.Score
	}
	return a.Since.Before(b.Since)
}
