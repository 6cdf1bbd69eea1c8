package balance

import "time"

// LeastShare is the share with which a fresh worker begins.
const LeastShare = 0.1

// Ramp returns the share, from [LeastShare] to 1, of a worker of this age, if shares grow over the time over. Zero means no
// ramp.
func Ramp(age, over time.Duration) float64 {
	if over <= 0 || age >= over {
		return 1
	}
	return max(LeastShare, float64(age)/float64(over))
}

// Load returns a number for comparing workers: choose the lowest. share is the worker's [Ramp]. u is random in [0, 1),
// drawn anew for each worker and choice. u breaks ties evenly among equal shares. A worker of share s among idle ones of
// share 1 wins s times as often as each of them, because it wins if its u is below s times the lowest of the others.
func Load(inFlight int, share, u float64) float64 {
	return (float64(inFlight) + u) / share
}

// DefaultPanicBelow is the share of healthy workers below which health is ignored.
const DefaultPanicBelow = 0.5

// Panic reports whether to ignore health: only well of the up workers look healthy, which is a share less than below.
// Workers that are down do not count.
func Panic(up, well int, below float64) bool {
	return well < up && float64(well) < below*float64(up)-1e-9
}
