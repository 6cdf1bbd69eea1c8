package probe

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/process/removal"
)

// remote is the place of one worker across its lives.
type remote struct {
	removal.Removal

	name string // with an address where it could be looked up
	host string // the name of which it is an address; "" when the settings have name

	mu    sync.Mutex // guards what follows; never held during a call elsewhere
	life  *span      // the newest; nil before the first
	hangs bool       // the last life was ended for hanging
}

// span is one life of a worker: one epoch.
type span struct {
	inodes    []uint64       // of the sockets that listened when it began
	up        chan struct{}  // closed when epoch is known
	epoch     uint64         // valid once up is closed
	ended     atomic.Bool    // somebody is ending it
	gone      chan struct{}  // closed when its end has been reported
	announced atomic.Bool    // it said that it would stop
	opinion   reportedHealth // owned by who watches it
}

func (l *span) opened(epoch uint64) {
	l.epoch = epoch
	close(l.up)
}

// over reports whether the life has ended or is being ended.
func (l *span) over() bool { return l.ended.Load() }

// begin starts a life whose epoch is not known yet.
func (r *remote) begin(inodes []uint64) *span {
	l := &span{inodes: inodes, up: make(chan struct{}), gone: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.life = l
	return l
}

// close claims the ending of l. Only the first caller gets true.
func (r *remote) close(l *span, class bezoar.Class) bool {
	if !l.ended.CompareAndSwap(false, true) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hangs = class == bezoar.Timeout
	return true
}

// current returns the life that goes on, or nil.
func (r *remote) current() *span {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life == nil || r.life.over() {
		return nil
	}
	return r.life
}

// newest returns the life that goes on or has ended last; nil before the first.
func (r *remote) newest() *span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.life
}

// find returns the life with the given epoch unless it is over. Epochs that
// are not the newest are.
func (r *remote) find(epoch uint64) *span {
	l := r.current()
	if l == nil {
		return nil
	}
	<-l.up // Up may have told the epoch to others before it returned to us
	if l.epoch != epoch {
		return nil
	}
	return l
}

func (r *remote) hung() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hangs
}

func crash(detail string) fleet.End {
	return fleet.End{Class: bezoar.Crash, At: time.Now(), Detail: detail, ExitCode: -1}
}

// announcedEnd turns what looked like a crash into the stop that was announced.
// A hang stays one: nobody announces that.
func announcedEnd(end fleet.End) fleet.End {
	if end.Class == bezoar.Timeout {
		return end
	}
	end.Planned, end.Class = true, bezoar.Interrupted
	end.Detail = "announced by its health check, then " + end.Detail
	return end
}
