package openloop

import (
	"context"
	"math"
	"slices"
	"time"
)

// Every calls f at fixed times from begin until end. What is late is made up
// for, so that the rate holds.
func Every(ctx context.Context, begin, end time.Time, interval time.Duration, f func(time.Time)) {
	timer := time.NewTimer(time.Until(begin))
	defer timer.Stop()
	for next := begin; next.Before(end); next = next.Add(interval) {
		timer.Reset(time.Until(next))
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // also when the next time has come as well
			return
		}
		f(next)
	}
}

// Quantile sorts the times and returns the q-th of them, 0 of none.
func Quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)-1, int(q*float64(len(times))))]
}

// Percent returns part of whole, rounded down to hundredths: 100 only when it
// is, and 0 of nothing.
func Percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return math.Floor(1e4*float64(part)/float64(whole)) / 100
}

// MS returns d in milliseconds, rounded to hundredths.
func MS(d time.Duration) float64 { return math.Round(float64(d.Microseconds())/10) / 100 }
