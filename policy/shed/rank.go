package shed

import "time"

// Cohorts is the number of groups of callers within one priority.
const Cohorts = 128

// Ranks is the number of ranks.
const Ranks = Tiers * Cohorts

// Rank orders all work: 0 is refused last, Ranks-1 first.
type Rank int

// RankOf returns the rank of work of p by a caller with this hash, at a turn of [TurnAt]. It depends on nothing else, so
// all machines agree.
func RankOf(p Priority, caller, turn uint64) Rank {
	// This is the finalizer of splitmix64: callers' hashes may be weak in their high bits.
	h := caller
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	h ^= h >> 31
	return Rank(p.Tier()*Cohorts + int((h+turn)%Cohorts))
}

// Tier returns the tier of the rank's priority.
func (r Rank) Tier() int { return int(r) / Cohorts }

// TurnAt counts the steps of the rotation, of which a complete one takes turn. Each step moves one cohort from the front to
// the end.
func TurnAt(now time.Time, turn time.Duration) uint64 {
	step := max(turn/Cohorts, 1)
	steps := now.UnixNano() / int64(step)
	// The front cohort, 0, must become 127, so count downwards.
	return -uint64(steps)
}
