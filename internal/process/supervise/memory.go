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

// memory limits the workers' memory and finds out which were killed for it.
type memory struct {
	create func(name string, limit int64) (*cgroup.Group, error)
	log    *slog.Logger
	once   sync.Once // for the message that groups are not permitted

	mu     sync.Mutex    // guards the fields below
	shared *cgroup.Group // our own group, in which workers without a group run
	seen   int64         // kills counted there that were attributed
}

// open starts watching our own group.
func (m *memory) open() {
	g, err := cgroup.Of(os.Getpid())
	if err == nil {
		m.seen, err = g.OOMKills()
	}
	if err != nil {
		m.log.Info("the kernel's count of kills for lack of memory is not available", "why", err)
		return
	}
	m.shared = g
}

// group creates a group for one life. It returns nil if there is no limit (0) or groups are not permitted.
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

// fallBack logs once that the kernel does not enforce the limit.
func (m *memory) fallBack(limit int64, err error) {
	m.once.Do(func() {
		m.log.Warn("the kernel does not limit memory here; Bezoar kills a worker that it finds above its limit",
			"limit", limit, "every", lookEvery, "why", err)
	})
}

// struck reports whether the kernel killed for memory in a life's group. For a life in our own group, it attributes one
// such kill to it. It is called once per life ended by SIGKILL.
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

// lookEvery is the time between memory checks of a life without a group. A fast process can allocate some 100 MiB in that
// time.
const lookEvery = 50 * time.Millisecond

// guard kills a life without a group that exceeds its limit. A limit set on the process itself would be exact, but many
// runtimes that meet one hang, or die like in other crashes. So that limit is far higher, and only stops processes that
// grow too fast for the checks.
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
