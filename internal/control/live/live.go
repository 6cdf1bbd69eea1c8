package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Live decides which settings run here.
type Live struct {
	config Config
	notify func() (*fsnotify.Watcher, error)

	// turn is held by who decides what runs and calls Apply: a semaphore rather
	// than a mutex, since others wait for it as long as their context lets them.
	// It guards the fields of this block.
	turn     chan struct{}
	newest   Version   // of the store, as far as it was followed; zero: none
	edit     edit      // what files say and the store has not got yet; nil: nothing
	pending  *Version  // what newest becomes by that; nil like edit
	file     fileState // what was read last
	listed   []expiring
	running  Version // zero: nothing
	inForce  []Override
	bad      fault // why what is wanted does not run
	badRules error // why the overrides in force are not those that should be
	events   []Event

	revision atomic.Int64 // of the store, as far as it was followed; -1: not yet
	behind   atomic.Bool  // something pends that the store should get
	changed  chan struct{}
	renamed  chan struct{} // other files are named
	expiries chan struct{}

	mu     sync.Mutex // guards status; held for copying only
	status Status
}

// expiring is an override and when it ends by the clock of this process, which
// may only be too early.
type expiring struct {
	Override
	ends time.Time
}

// fault is why a text does not run.
type fault struct {
	sum   string
	final bool // it is invalid, so that it need not be tried again
	err   error
}

// New returns a Live that nothing runs in yet.
func New(c Config) (*Live, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("live settings: %w", err)
	}
	c = c.withDefaults()
	l := &Live{
		config: c, notify: fsnotify.NewWatcher,
		turn: make(chan struct{}, 1), changed: make(chan struct{}, 1), renamed: make(chan struct{}, 1), expiries: make(chan struct{}, 1),
		status: Status{Node: c.Node, File: FileStatus{Path: c.Path}},
	}
	l.revision.Store(-1)
	return l, nil
}

// Status says what is known here; it asks nobody.
func (l *Live) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.status
	s.Overrides, s.Nodes = slices.Clone(s.Overrides), slices.Clone(s.Nodes)
	return s
}

// enter waits for the turn.
func (l *Live) enter(ctx context.Context) (leave func(), err error) {
	select {
	case l.turn <- struct{}{}:
		return l.leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// say notes what happened; it is told when the turn ends.
func (l *Live) say(e Event) { l.events = append(l.events, e) }

// leave ends the turn: the status shows what has changed before anybody is told.
func (l *Live) leave() {
	l.publish()
	for _, e := range l.events {
		l.config.Observe(e)
	}
	l.events = nil
	<-l.turn
}

// publish makes what the turn has changed visible.
func (l *Live) publish() {
	wanted, now := l.wanted(), time.Now()
	var text string
	switch {
	case wanted.Sum != l.running.Sum && l.bad.sum == wanted.Sum && l.bad.err != nil:
		text = l.bad.err.Error()
	case l.badRules != nil:
		text = l.badRules.Error()
	}
	l.mu.Lock()
	s := &l.status
	different := s.Running.Number != l.running.Number || s.Running.Sum != l.running.Sum
	told := different || s.Wanted.Number != wanted.Number || s.Error != text || len(s.Overrides) != len(l.inForce)
	if different {
		s.Since = now
	}
	if s.Error != text {
		s.ErrorAt = now
		if text == "" {
			s.ErrorAt = time.Time{}
		}
	}
	s.Running, s.Wanted, s.Error = l.running.bare(), wanted.bare(), text
	s.Overrides, s.Revision = l.inForce, max(l.revision.Load(), 0)
	s.File.Sum, s.File.Version, s.File.Error, s.File.ErrorAt = l.file.sum, l.file.number, l.file.status(), l.file.errAt
	if l.pending != nil {
		s.File.Version = 0
	}
	files := l.fileStatuses(&s.File)
	renamed := !slices.EqualFunc(files, s.File.Files, func(a, b NamedFile) bool { return a.Path == b.Path })
	s.File.Files = files
	l.mu.Unlock()
	if renamed {
		poke(l.renamed)
	}
	if told {
		poke(l.changed)
	}
}

// fileStatuses says how the files that settings name compare with what runs,
// and in f whether the file does.
func (l *Live) fileStatuses(f *FileStatus) []NamedFile {
	running := documentOf(l.running)
	sums := running.sums()
	f.Runs = l.file.sum != "" && l.running.Sum != "" && l.file.parts[""].sum == sums[""]
	names := map[string]bool{}
	for name := range l.file.parts {
		names[name] = name != ""
	}
	for _, name := range l.names(running.Text) {
		names[name] = true
	}
	var out []NamedFile
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !names[name] {
			continue
		}
		p := l.file.parts[name]
		is := NamedFile{Path: name, Sum: p.sum, Error: p.err, ErrorAt: p.errAt}
		_, is.Runs = sums[name]
		is.Runs = is.Runs && p.sum == sums[name] && p.err == "" && !l.file.refuses(name, sums[name])
		f.Runs = f.Runs && (is.Runs || sums[name] == "")
		out = append(out, is)
	}
	return out
}

// bare is v without its text.
func (v Version) bare() Version {
	v.Text = nil
	return v
}

// poke wakes whoever waits on c, now or next.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// in bounds one call to the store.
func (l *Live) in(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.config.Timeout)
}

// wanted is what should run; the turn is held.
func (l *Live) wanted() Version {
	if l.pending != nil {
		return *l.pending
	}
	return l.newest
}
