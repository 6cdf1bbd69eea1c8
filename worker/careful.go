package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
)

const (
	// carefulFor is how long a worker is careful that has found nothing of an
	// earlier life.
	carefulFor = 2 * time.Minute
	// unended is how often a message may have been received, and nothing is known
	// of how that ended, until it is to run with nothing beside it.
	unended = 3
	// hopeless is how often that has been, until it is set aside without another run.
	hopeless = 10
	// fewWorn is how many messages may be set aside so: more at once are what an
	// outage leaves.
	fewWorn = 3
	// mostOff is how often others go before it: they may never end.
	mostOff     = 5
	mostAway    = time.Hour // that a message stays away which killed its worker
	dangerPause = 20 * time.Millisecond
	// singly is how many messages have ended until a careful worker takes several
	// in one receive.
	singly  = 20
	maxEnds = 10_000
)

// careful reports whether an earlier life may have died of a message that this one
// knows nothing about: the worker is young, and has found no state.
func (w *Worker) careful() bool { return w.fresh && time.Since(w.start) < carefulFor }

// single reports whether a careful worker receives its messages one by one, so that
// few are in hand beside one that kills.
func (w *Worker) single() bool { return w.judge != nil && w.careful() && w.ends.n.Load() < singly }

// mayKill reports whether a careful worker takes a message for one that killed an
// earlier life: the queue suspects it, or it was received again and again and
// nothing is known of how that ended. Nothing is to be in hand beside it.
func (w *Worker) mayKill(m *Message) bool {
	switch {
	case w.about.Judges: // such a queue knows what vanished with whom
		return w.careful() && m.Alone
	case !w.careful() && !w.off.has(m.ID):
		return false
	}
	least := unended
	if most := w.about.MaxReceives; most > 0 { // one more must be left
		least = min(least, max(most-1, 2))
	}
	return m.Receives >= least && !w.ends.has(m.ID)
}

// hopeless reports whether a message is set aside that may have killed so many
// lives. It is not where the queue counts receives, nor if there are many such
// messages: those it is asked about after they were put off, when all are known.
func (w *Worker) hopeless(m *Message) bool {
	return w.judge != nil && w.about.MaxReceives == 0 && w.worn(m) && w.mayKill(m) && w.off.worn() <= fewWorn
}

// worn reports whether a message was received so often, and over so long a time,
// that each receive may have ended with its lease, as the death of a worker does. The
// receives after which this life put the message off say nothing.
func (w *Worker) worn(m *Message) bool {
	n := m.Receives - w.off.times(m.ID)
	return n >= hopeless && time.Since(m.Sent) >= time.Duration(n-1)*w.cfg.Visibility
}

// putsOff reports whether a message that may kill is given back for a while: until
// a receive has found nothing, so that all others are done first, or it was given back
// mostOff times. It is not where the queue counts receives.
func (w *Worker) putsOff(m *Message) bool {
	return w.judge != nil && w.about.MaxReceives == 0 && w.off.puts(m.ID, w.empty.Load(), w.worn(m))
}

// offFor is how long: a receive that waits meanwhile has time to find nothing.
func (w *Worker) offFor() time.Duration { return w.waits() + 2*time.Second }

// away is how long a message stays away if it kills this worker: longer with each
// receive, so that a later life works in peace. That life knows nothing of this one.
func (w *Worker) away(m *Message) time.Duration {
	d := w.cfg.Visibility
	if w.judge == nil || w.about.MaxReceives > 0 {
		return d
	}
	for n := unended; n <= m.Receives && d < mostAway; n++ {
		d *= 2
	}
	return min(d, max(mostAway, w.cfg.Visibility))
}

// off are messages that were put off.
type off struct {
	mu  sync.Mutex // guards all
	all map[string]*since
}

// since is when a message was put off first, and how often it was.
type since struct {
	at   int64
	n    int
	worn bool
}

func (o *off) has(id string) bool { return o.times(id) > 0 }

// times is how often a message was put off.
func (o *off) times(id string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.all[id]; s != nil {
		return s.n
	}
	return 0
}

// worn is how many of them were worn.
func (o *off) worn() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.all {
		if s.worn {
			n++
		}
	}
	return n
}

// puts notes a message and reports whether nothing was empty since it was put off
// first. When there are too many it is not put off.
func (o *off) puts(id string, empty int64, worn bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.all[id]
	switch {
	case s == nil && len(o.all) >= maxEnds, s != nil && (s.at <= empty || s.n >= mostOff):
		return false
	case s == nil:
		if o.all == nil {
			o.all = make(map[string]*since)
		}
		s = &since{at: time.Now().UnixNano(), worn: worn}
		o.all[id] = s
	}
	s.n++
	return true
}

// lonely waits until nothing is here but this message, and others that may kill: they
// take turns. No other one is received meanwhile.
func (d *delivery) lonely() {
	for d.receiving.Err() == nil && d.ctx.Err() == nil && d.w.slots.running() > int(d.w.dangers.Load()) {
		sleep(d.receiving, dangerPause)
	}
}

// ends are messages that this life has seen end, and that come again: the newest.
type ends struct {
	n     atomic.Int64 // all that have ended
	mu    sync.Mutex   // guards all below
	ids   map[string]bool
	order []string
}

func (e *ends) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ids[id]
}

// add notes how a run ended, if its message comes again.
func (e *ends) add(id string, class bezoar.Class) {
	e.n.Add(1)
	if class == bezoar.Done {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ids == nil {
		e.ids = make(map[string]bool)
	}
	if e.ids[id] {
		return
	}
	if len(e.order) >= maxEnds {
		delete(e.ids, e.order[0])
		e.order = e.order[1:]
	}
	e.ids[id], e.order = true, append(e.order, id)
}
