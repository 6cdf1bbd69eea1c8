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

// Live decides which settings run in this process.
type Live struct {
	config Config
	notify func() (*fsnotify.Watcher, error)

	// turn is held by the goroutine that decides what runs and calls Apply. It is a
	// semaphore instead of a mutex, because others wait for it only as long as their
	// contexts allow. It guards the fields of this block.
	turn     chan struct{}
	newest   Version   // newest known version of the store; zero: none
	edit     edit      // changes of files that are not yet in the store; nil: none
	pending  *Version  // newest with these changes; nil like edit
	file     fileState // last read state
	listed   []expiring
	running  Version // zero: nothing
	inForce  []Override
	bad      fault // why the wanted version does not run
	badRules error // why the wanted overrides are not in force
	events   []Event

	revision atomic.Int64 // last followed revision of the store; -1: none
	behind   atomic.Bool  // a pending change should be stored
	changed  chan struct{}
	renamed  chan struct{} // the set of named files has changed
	expiries chan struct{}

	mu     sync.Mutex // guards status; held for copying only
	status Status
}

// expiring is an override with its end by this process's clock. The end may be too early,
// but not too late.
type expiring struct {
	Override
	ends time.Time
}

// fault is the reason why a text does not run.
type fault struct {
	sum   string
	final bool // the text is invalid, so that a retry is useless
	err   error
}

// New returns a Live without running settings.
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

// Status returns the known state, without asking the store.
func (l *Live) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.status
	s.Overrides, s.Nodes = slices.Clone(s.Overrides), slices.Clone(s.Nodes)
	return s
}

// enter acquires the turn.
func (l *Live) enter(ctx context.Context) (leave func(), err error) {
	select {
	case l.turn <- struct{}{}:
		return l.leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// say records an event, which is reported when the turn ends.
func (l *Live) say(e Event) { l.events = append(l.events, e) }

// leave ends the turn. The status shows the changes before events are reported.
func (l *Live) leave() {
	l.publish()
	for _, e := range l.events {
		l.config.Observe(e)
	}
	l.events = nil
	<-l.turn
}

// publish updates the status.
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

// fileStatuses compares the named files with the running version. It sets in f whether the
// file itself runs.
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

// bare returns v without its text.
func (v Version) bare() Version {
	v.Text = nil
	return v
}

// poke wakes the goroutine that waits on c, now or later.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// in adds the time limit for a call of the store.
func (l *Live) in(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.config.Timeout)
}

// wanted returns the version that should run. The caller holds the turn.
func (l *Live) wanted() Version {
	if l.pending != nil {
		return *l.pending
	}
	return l.newest
}
