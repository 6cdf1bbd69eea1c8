package supervise

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// memory limits the workers and tells which were killed for it.
type memory struct {
	create func(name string, limit int64) (*cgroup.Group, error)
	log    *slog.Logger
	once   sync.Once // to say that groups are not permitted

	mu     sync.Mutex    // guards what follows
	shared *cgroup.Group // ours, where workers without a group of their own run
	seen   int64         // kills counted there and accounted for
}

// open begins to watch our own group.
func (m *memory) open() {
	g, err := cgroup.Of(os.Getpid())
	if err == nil {
		m.seen, err = g.OOMKills()
	}
	if err != nil {
		m.log.Info("kills for lack of memory cannot be told from others by the kernel's count", "why", err)
		return
	}
	m.shared = g
}

// group makes a group for one life, or returns nil when there is no limit (0) or
// groups are not permitted.
func (m *memory) group(life string, limit int64) *cgroup.Group {
	if limit == 0 {
		return nil
	}
	g, err := m.create(life, limit)
	if err != nil {
		m.fallBack(limit, err)
		return nil
	}
	return g
}

// fallBack says once that the limit is kept more loosely than asked.
func (m *memory) fallBack(limit int64, err error) {
	m.once.Do(func() {
		m.log.Warn("the kernel does not limit memory here; Bezoar kills a worker that it finds above its limit",
			"limit", limit, "every", lookEvery, "why", err)
	})
}

// struck reports whether the kernel killed for memory in a life's group, and
// accounts for one such kill in ours. It is asked once per life ended by SIGKILL.
func (m *memory) struck(own *cgroup.Group) bool {
	if own != nil {
		n, err := own.OOMKills()
		return err == nil && n > 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shared == nil {
		return false
	}
	n, err := m.shared.OOMKills()
	if err != nil || n <= m.seen {
		return false
	}
	m.seen++
	return true
}

// lookEvery is how often the memory of a life without a group is looked at. In
// that time a fast one takes some 100 MiB.
const lookEvery = 50 * time.Millisecond

// guard kills a life without a group that exceeds its limit. A limit of the
// process itself would be exact, but runtimes that meet one often die in ways
// that cannot be told from other crashes, or hang: it is set far above, for
// those that outrun the looks.
func (m *memory) guard(l *life, limit int64) {
	if err := (proc.Limits{Data: max(2*limit, limit+512<<20)}).Apply(l.pid); err != nil {
		m.log.Warn("memory is not limited", "worker", l.worker, "limit", limit, "why", err)
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.exited:
			return
		case <-tick.C:
		}
		if n := proc.Resident(l.pid); n > limit {
			l.signal(toFit, fmt.Sprintf("%d MiB resident", n>>20), syscall.SIGKILL)
		}
	}
}
