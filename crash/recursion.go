package crash

// mostFrequent begins the frames of an overflown stack at one of the functions
// that recur: which one of a cycle the stack ended in is chance. Of those that
// recur about as often as the one that does most, the name that sorts first is
// taken.
func mostFrequent(frames []Frame, library func(Frame) bool) []Frame {
	count := make(map[string]int, len(frames))
	most := 0
	for _, f := range frames {
		if f.Function != "" && !library(f) {
			count[f.Function]++
			most = max(most, count[f.Function])
		}
	}
	if most < 2 {
		return frames
	}
	best := ""
	for name, n := range count {
		if 2*n >= most && n > 1 && (best == "" || name < best) {
			best = name
		}
	}
	for i, f := range frames {
		if f.Function == best && !library(f) {
			return frames[i:]
		}
	}
	return frames
}
