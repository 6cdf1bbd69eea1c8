package sim

import "slices"

// Shrink returns a scenario with fewer requests, workers, kinds of pills and of
// noise than s that still fails. It tries sixty runs at most.
func Shrink(s Scenario, fails func(Scenario) bool) Scenario {
	const mostRuns = 60
	runs := 0
	try := func(smaller Scenario) bool {
		if runs++; runs > mostRuns || smaller == s || !fails(smaller) {
			return false
		}
		s = smaller
		return true
	}
	for shrunk := true; shrunk; {
		shrunk = slices.ContainsFunc(smaller(s), try)
	}
	return s
}

// smaller lists what to try next, the boldest first.
func smaller(s Scenario) (list []Scenario) {
	for _, part := range []int{8, 2} {
		if t := s; s.Requests >= 2*part {
			t.Requests /= part
			list = append(list, t)
		}
		if t := s; s.Workers >= 2*part {
			t.Workers /= part
			list = append(list, t)
		}
	}
	for k := Pills(1); k <= allPills; k <<= 1 {
		if t := s; s.Pills&k != 0 {
			t.Pills &^= k
			list = append(list, t)
		}
	}
	for k := Noise(1); k <= allNoise; k <<= 1 {
		if t := s; s.Noise&k != 0 {
			t.Noise &^= k
			list = append(list, t)
		}
	}
	return list
}
