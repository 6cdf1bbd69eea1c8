package shed

import "time"

// trust is how long a measured service time is used if no newer one comes. After that it halves every trust.
const trust = time.Second

// Service estimates how long quick work takes: a quarter of all work is faster. The zero value has no estimate. It is not
// safe for concurrent use.
type Service struct {
	quick float64 // ns
	fresh bool    // a result has come since the clock was last read
	at    time.Time
}

// Done records a latency.
func (s *Service) Done(latency time.Duration) {
	const step = 0.05 // relative, so that it works at any scale
	x := float64(max(latency, 1))
	switch {
	case s.quick == 0:
		s.quick = x
	case x < s.quick:
		s.quick = max(s.quick*(1-0.75*step), x)
	default:
		s.quick = min(s.quick*(1+0.25*step), x)
	}
	s.fresh = true
}

// Quick returns the estimate; 0 while unknown. It fades while nothing is done. Otherwise an estimate that lets nothing
// through could stay for ever.
func (s *Service) Quick(now time.Time) time.Duration {
	if s.fresh || now.Before(s.at) {
		s.fresh, s.at = false, now
	}
	for now.Sub(s.at) >= trust && s.quick > 0 {
		s.quick /= 2
		s.at = s.at.Add(trust)
		if s.quick < float64(time.Microsecond) {
			s.quick = 0
		}
	}
	return time.Duration(s.quick)
}

// RetryAfter returns how long a refused caller should wait: two seconds times the load, at most a minute, plus or minus up
// to half of it by random in [0, 1). So callers that were refused together do not come back together, even if the time is
// rounded to seconds.
func RetryAfter(load, random float64) time.Duration {
	const unit, most = 2 * time.Second, time.Minute
	base := time.Duration(min(max(load, 1), float64(most/unit)) * float64(unit))
	return time.Duration((0.5 + random) * float64(base))
}
