package probe

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/process/removal"
)

// remote is one worker through all its lives.
type remote struct {
	removal.Removal

	name string // contains the address if the host name was resolved
	host string // host name that resolved to it; "" if the settings contain name itself

	mu    sync.Mutex // guards the fields below; never held during calls to other packages
	life  *span      // the newest; nil before the first
	hangs bool       // the last life was ended because it hung
}

// span is one life of a worker: one epoch.
type span struct {
	inodes    []uint64       // of its listening sockets when it began
	up        chan struct{}  // closed when epoch is known
	epoch     uint64         // valid once up is closed
	ended     atomic.Bool    // a goroutine is ending it
	gone      chan struct{}  // closed when its end has been reported
	announced atomic.Bool    // it announced that it will stop
	opinion   reportedHealth // owned by the goroutine that watches it
}

func (l *span) opened(epoch uint64) {
	l.epoch = epoch
	close(l.up)
}

// over reports whether the life has ended or is ending.
func (l *span) over() bool { return l.ended.Load() }

// begin starts a life whose epoch is not known yet.
func (r *remote) begin(inodes []uint64) *span {
	l := &span{inodes: inodes, up: make(chan struct{}), gone: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.life = l
	return l
}

// close claims the right to end l. Only the first caller gets true.
func (r *remote) close(l *span, class bezoar.Class) bool {
	if !l.ended.CompareAndSwap(false, true) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hangs = class == bezoar.Timeout
	return true
}

// current returns the live life, or nil.
func (r *remote) current() *span {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life == nil || r.life.over() {
		return nil
	}
	return r.life
}

// newest returns the current or the last life; nil before the first.
func (r *remote) newest() *span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.life
}

// find returns the life with the given epoch, or nil if it is over. All epochs but the newest are over.
func (r *remote) find(epoch uint64) *span {
	l := r.current()
	if l == nil {
		return nil
	}
	<-l.up // other goroutines may learn the epoch before Up returns it
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

// announcedEnd turns an apparent crash into the announced stop. A hang stays a hang: it is never announced.
func announcedEnd(end fleet.End) fleet.End {
	if end.Class == bezoar.Timeout {
		return end
	}
	end.Planned, end.Class = true, bezoar.Interrupted
	end.Detail = "announced by its health check, then " + end.Detail
	return end
}
