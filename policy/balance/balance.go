package balance

import "time"

// LeastShare is where a fresh worker's share begins.
const LeastShare = 0.1

// Ramp returns the share, from [LeastShare] to 1, of a worker that has been
// there for age, when shares grow over the time over. Zero means no ramp.
func Ramp(age, over time.Duration) float64 {
	if over <= 0 || age >= over {
		return 1
	}
	return max(LeastShare, float64(age)/float64(over))
}

// Load returns how busy a worker is for comparison: the lowest is chosen. share
// is its [Ramp], and u is random in [0, 1), drawn anew for each worker and
// choice. u breaks ties evenly among equal shares; and a worker of share s among
// idle ones of share 1 wins s times as often as each of them, because it wins
// when its u is below s times the least of the others.
func Load(inFlight int, share, u float64) float64 {
	return (float64(inFlight) + u) / share
}

// DefaultPanicBelow is the share of workers that must look well for the looks
// to be believed.
const DefaultPanicBelow = 0.5

// Panic reports whether the opinions about workers should be distrusted: of up
// workers only well look well, a share less than below. Workers that are down
// are no opinion and do not count.
func Panic(up, well int, below float64) bool {
	return well < up && float64(well) < below*float64(up)-1e-9
}
