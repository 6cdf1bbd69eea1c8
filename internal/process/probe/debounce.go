package probe

// When a [Debouncer] changes its result.
const (
	fall = 3 // failed checks in a row that make a worker unhealthy
	rise = 2 // good checks in a row that make it healthy again
)

// Debouncer derives a stable state from single checks: a worker is unhealthy after three failures in a row, and healthy
// again after two good answers. With the zero Debouncer the worker is healthy. It is not safe for concurrent use.
type Debouncer struct {
	row  int // checks in a row that contradict the state
	sick bool
}

// Add adds the result of a check and reports whether the worker is unhealthy.
func (w *Debouncer) Add(r Result) bool {
	switch {
	case r.Outcome == Exhausted: // the check was not made
	case r.Healthy() != w.sick:
		w.row = 0
	case w.sick:
		w.count(rise)
	default:
		w.count(fall)
	}
	return w.sick
}

func (w *Debouncer) count(enough int) {
	if w.row++; w.row >= enough {
		*w = Debouncer{sick: !w.sick}
	}
}

// MarkSick makes the worker unhealthy at once: it said so itself.
func (w *Debouncer) MarkSick() { *w = Debouncer{sick: true} }
