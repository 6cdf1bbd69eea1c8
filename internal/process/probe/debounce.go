package probe

// When a [Debouncer] changes its result.
const (
	fall = 3 // looks in a row that must fail before a worker is held sick
	rise = 2 // and good ones before it is held well again
)

// Debouncer turns single looks into a steady result: a worker is sick after three
// failures in a row and well again after two good answers. The zero Debouncer holds
// the worker well. It is not safe for concurrent use.
type Debouncer struct {
	row  int // looks in a row that contradict the result
	sick bool
}

// Add takes one more look into account and reports whether the worker is sick.
func (w *Debouncer) Add(r Result) bool {
	switch {
	case r.Outcome == Exhausted: // nobody has looked
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

// MarkSick holds the worker sick at once: it said so itself.
func (w *Debouncer) MarkSick() { *w = Debouncer{sick: true} }
