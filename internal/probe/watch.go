package probe

// When a [Watch] changes its mind.
const (
	fall = 3 // looks in a row that must fail before a worker is held sick
	rise = 2 // and good ones before it is held well again
)

// Watch turns single looks into a steady opinion: a worker is sick after three
// failures in a row and well again after two good answers. The zero Watch holds
// the worker well. It is not safe for concurrent use.
type Watch struct {
	row  int // looks in a row that contradict the opinion
	sick bool
}

// See takes one more look into account and reports whether the worker is sick.
func (w *Watch) See(r Result) bool {
	switch {
	case r.Healthy() != w.sick:
		w.row = 0
	case w.sick:
		w.count(rise)
	default:
		w.count(fall)
	}
	return w.sick
}

func (w *Watch) count(enough int) {
	if w.row++; w.row >= enough {
		*w = Watch{sick: !w.sick}
	}
}

// Trust holds the worker sick at once: it said so itself.
func (w *Watch) Trust() { *w = Watch{sick: true} }
