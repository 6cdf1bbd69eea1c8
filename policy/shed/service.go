package shed

import "time"

// trust is how long a measured service time is believed when no newer one comes;
// after that it halves every trust.
const trust = time.Second

// Service estimates how long quick work takes: a quarter of all work is faster.
// The zero value knows nothing. It is not safe for concurrent use.
type Service struct {
	quick float64 // ns
	fresh bool    // a result has come since the clock was last looked at
	at    time.Time
}

// Done takes a latency.
func (s *Service) Done(latency time.Duration) {
	const step = 0.05 // of itself, so that the estimate fits whatever the scale
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

// Quick is the estimate, 0 while unknown. It fades when nothing is done, so that
// an estimate that lets nothing through cannot live on for lack of results.
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

// RetryAfter is how long to tell a refused caller to wait: two seconds for each
// time that the load exceeds what can be done, a minute at most, half of it more
// or less by random in [0, 1). So those who were refused together do not come
// back together, also when it is rounded to seconds.
func RetryAfter(load, random float64) time.Duration {
	const unit, most = 2 * time.Second, time.Minute
	base := time.Duration(min(max(load, 1), float64(most/unit)) * float64(unit))
	return time.Duration((0.5 + random) * float64(base))
}
