package probe

import "sync"

// failAfter is how many looks in a row must fail before a worker is drained.
const failAfter = 3

// Watch turns single looks into a steady opinion: a worker is sick after three
// failures in a row and well again after one good answer. The zero Watch holds
// the worker well. It is not safe for concurrent use.
type Watch struct {
	fails int
	sick  bool
}

// See takes one more look into account and reports whether the worker is sick.
func (w *Watch) See(r Result) bool {
	if r.Healthy() {
		*w = Watch{}
		return false
	}
	w.fails++
	w.sick = w.sick || w.fails >= failAfter
	return w.sick
}

// Allowance bounds how many workers of a fleet may be drained for their health
// at once: when most look sick it is more likely the check, and refusing
// everything would harm more than sending work to sick workers (law 11).
type Allowance struct {
	mu    sync.Mutex // guards taken
	taken int
	max   int
}

// NewAllowance allows draining as many of n workers as leaves the share
// panicBelow of them (0.5 unless between 0 and 1).
func NewAllowance(n int, panicBelow float64) *Allowance {
	if panicBelow <= 0 || panicBelow > 1 {
		panicBelow = DefaultPanicBelow
	}
	return &Allowance{max: int(float64(n)*(1-panicBelow) + 1e-9)}
}

// DefaultPanicBelow is the share of healthy workers below which health checks
// are no longer believed.
const DefaultPanicBelow = 0.5

// Take asks to drain one more worker. What was granted is given back by Give.
func (a *Allowance) Take() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.taken >= a.max {
		return false
	}
	a.taken++
	return true
}

// Give gives back what Take granted.
func (a *Allowance) Give() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.taken > 0 {
		a.taken--
	}
}
