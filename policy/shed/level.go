package shed

import "time"

const (
	interval    = 100 * time.Millisecond // least time between two settings of the cut
	maxInterval = 2 * time.Second        // longest time, while work waits
	minDone     = 16                     // least results in an interval
)

// Level is the rank from which work is refused without waiting. Make it with [NewLevel]. It is not safe for concurrent use.
type Level struct {
	seen [Ranks]uint32  // arrivals in this interval
	rate [Ranks]float32 // arrivals per second, over the last seconds, by rank
	cut  int            // the first rank that is partly shed; Ranks: none
	edge float64        // the share of the cut's rank that is not shed

	began    time.Time // of the interval
	done     int       // results in it
	check    int       // number of results at which the clock is read
	arrived  int       // arrivals in it
	refused  int       // refusals in it
	standing int       // the shortest queue in it
	queued   int       // the queue now

	total   float64 // arrivals per second, over the last second
	allow   float64 // the part of total that passes the cut
	load    float64 // arrivals per result in the last interval; 1 if nothing was refused
	served  float64 // results per second in the last interval; 0: unknown
	settled bool    // an interval has ended, so rate is known
}

// NewLevel returns a level that sheds nothing.
func NewLevel(now time.Time) Level {
	return Level{cut: Ranks, load: 1, began: now, check: minDone}
}

// Arrived counts work that asks for a slot.
func (l *Level) Arrived(r Rank) {
	l.seen[r]++
	l.arrived++
}

// Refused counts a refusal.
func (l *Level) Refused() { l.refused++ }

// Queued records the length of the queue; call it at every change.
func (l *Level) Queued(n int) {
	l.queued = n
	l.standing = min(l.standing, n)
}

// Done counts work that left its slot, and reports whether [Level.Step] is due.
func (l *Level) Done() (due bool) {
	l.done++
	if l.done < l.check {
		return false
	}
	l.check += max(l.done/4, 1)
	return true
}

// Overdue reports whether the interval has lasted too long because results are missing.
func (l *Level) Overdue(now time.Time) bool { return now.Sub(l.began) > maxInterval }

// Sheds reports whether work of rank r is refused without waiting; random is in [0, 1).
func (l *Level) Sheds(r Rank, random float64) bool {
	return int(r) > l.cut || int(r) == l.cut && random >= l.edge
}

// Cut returns how much is shed, from 0, nothing, to 1, everything but CriticalPlus.
func (l *Level) Cut() float64 { return float64(Ranks-l.cut) / (Ranks - Cohorts) }

// Load returns how much more work came than was done, as a factor of at least 1. It is 1 while nothing is refused.
func (l *Level) Load() float64 { return l.load }

// Served returns how much work is done per second; 0 while unknown.
func (l *Level) Served() float64 { return l.served }

// Began returns when the interval began. Load and Served are about the interval before.
func (l *Level) Began() time.Time { return l.began }

// Step ends the interval if it is long enough, and sets the cut for the next one; limit is how much runs at once.
func (l *Level) Step(now time.Time, limit int) {
	age := now.Sub(l.began)
	if age >= 0 && age < interval || age < maxInterval && l.done < max(minDone, min(limit, 1024)) {
		return
	}
	seconds := max(age, interval).Seconds()
	l.served = float64(l.done) / seconds
	l.load = 1
	if l.refused > 0 {
		l.load = max(1, float64(l.arrived)/float64(max(l.done, 1)))
	}
	l.count(seconds)
	target := float64(limit) / 4
	switch standing := float64(l.standing); {
	case standing > 0: // no slot was idle, so done is the capacity
		l.allow = l.served + (target-standing)/(2*seconds)
	case l.cut < Ranks: // too much was refused
		l.allow = max(l.allow, l.served)*1.1 + 1
	default:
		l.allow = l.total
	}
	l.setCut()
	l.began, l.done, l.check = now, 0, minDone
	l.arrived, l.refused, l.standing = 0, 0, l.queued
}

// count adds the interval's arrivals to the rates. The distribution over ranks changes more slowly than the total, and is
// averaged over a longer time, so that the cut does not move with every fluctuation and always the same callers are
// refused.
func (l *Level) count(seconds float64) {
	const much, who = 0.8, 8.0 // averaging times in seconds
	weight, slow := min(1, seconds/much), float32(min(1, seconds/who))
	if !l.settled {
		weight, slow, l.settled = 1, 1, true
	}
	sum := 0
	for r, n := range l.seen {
		l.rate[r] += slow * (float32(n)/float32(seconds) - l.rate[r])
		sum += int(n)
	}
	l.total += weight * (float64(sum)/seconds - l.total)
	clear(l.seen[:])
}

// setCut finds the rank up to which no more comes than is allowed.
func (l *Level) setCut() {
	l.cut, l.edge = Ranks, 0
	if l.total <= l.allow {
		return
	}
	all := 0.0
	for _, rate := range l.rate {
		all += float64(rate)
	}
	left := all * max(l.allow, 0) / l.total
	for r, rate := range l.rate {
		if left -= float64(rate); left < 0 && r >= Cohorts {
			l.cut = r
			l.edge = min(max(1+left/float64(rate), 0), 1)
			return
		}
	}
}
