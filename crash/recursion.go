package crash

// mostFrequent begins the frames of an overflown stack at the function that
// recurs most often: which one of a cycle the stack ended in is chance. The
// members of a cycle recur equally often, give or take one for where it was
// cut; of them the name that sorts first is taken.
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
		if n >= max(2, most-1) && (best == "" || name < best) {
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
