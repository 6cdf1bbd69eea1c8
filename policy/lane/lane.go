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

// Patience is how long a batch lets suspects that run alone go first.
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
// have waited for [Patience], up to [MaxBatch] of them at once, longest wait
// first. It returns nil for no entries. dst is reused for the answer.
func Pick(now time.Time, entries []Entry, dst []int) []int {
	dst = dst[:0]
	single := -1
	impatient := false
	for i := range entries {
		e := &entries[i]
		if e.batchable() {
			dst = append(dst, i)
			impatient = impatient || now.Sub(e.Since) >= Patience
			continue
		}
		if single < 0 || before(e, &entries[single]) {
			single = i
		}
	}
	if single >= 0 && !(impatient && now.Sub(entries[single].Since) < Patience) {
		return append(dst[:0], single)
	}
	if len(dst) == 0 && single >= 0 {
		return append(dst, single)
	}
	slices.SortStableFunc(dst, func(a, b int) int { return entries[a].Since.Compare(entries[b].Since) })
	return dst[:min(len(dst), MaxBatch)]
}

// before orders work that runs alone: what has not killed the lane yet comes
// first, since its success tells a sick fleet from sick work; then the highest
// score, then the longest wait.
func before(a, b *Entry) bool {
	if a.Died != b.Died {
		return a.Died < b.Died
	}
	if a.Score != b.Score {
		return a.Score > b.Score
	}
	return a.Since.Before(b.Since)
}
