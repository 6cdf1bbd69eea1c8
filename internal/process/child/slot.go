package child

import (
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/internal/process/vfork"
)

// slot holds what one job at a time needs: a thread that forks it and, where possible, a cell. It is used again: creating
// both for each job would cost as much as the fork.
type slot struct {
	thread *proc.Thread
	cell   *cgroup.Cell // nil without
	memory int64        // limit of its jobs in bytes; 0: none
	spoilt bool         // must not be used again
	null   *os.File     // the stdin of jobs without input; nil until needed

	// Reused buffers.
	buf            []byte // of [chunk] bytes, once needed
	stdout, stderr proc.Tail
}

// spoiltShare: a cell is replaced when more than this part of its memory limit stays charged to it. In-memory files that a
// job left would count against the next job.
const spoiltShare = 8

func (r *Runner) newSlot(memory int64) *slot {
	s := &slot{thread: proc.NewThread(), memory: memory}
	s.stdout.Max, s.stderr.Max = r.cfg.Tail, r.cfg.Tail
	if !r.means.cell {
		return s
	}
	cell, err := cgroup.NewCell(r.id.cellName(r.seq.Add(1)), r.need(memory))
	if err == nil {
		s.thread.Do(func() { err = cell.Enter() })
		if err != nil {
			_ = cell.Remove() // it is empty
		}
	}
	switch {
	case err != nil:
		r.cfg.Log.Warn("a job runs without a cgroup", "why", err)
		return s
	case cell.Missing() != nil && !r.means.partial:
		r.cfg.Log.Warn("the kernel's groups enforce only some of a job's limits", "why", cell.Missing())
	}
	s.cell = cell
	return s
}

// nothing returns a stdin without any data.
func (s *slot) nothing() (fd uintptr, err error) {
	if s.null == nil {
		if s.null, err = os.Open(os.DevNull); err != nil {
			return 0, err
		}
	}
	return s.null.Fd(), nil
}

// close releases everything that the slot holds. Its job must have ended.
func (s *slot) close() (err error) {
	if s.null != nil {
		_ = s.null.Close()
	}
	if s.cell != nil {
		s.thread.Do(s.cell.Leave)
		err = s.cell.Remove()
	}
	s.thread.Close()
	return err
}

func (r *Runner) need(memory int64) cgroup.Need {
	return cgroup.Need{Memory: memory, Pids: max(0, r.cfg.Pids)}
}

// Cells returns the prefix of the names of all memory groups of the runner's mark.
func (r *Runner) Cells() string { return r.id.tag() }

// tag returns the prefix of the names of all cells of one mark.
func (id identity) tag() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id.mark))
	return fmt.Sprintf("job-%016x.", h.Sum64())
}

func (id identity) cellName(n uint64) string { return fmt.Sprintf("%s%d.%d", id.tag(), id.born, n) }

// means holds the ways in which this machine can enforce limits.
type means struct {
	cell         bool       // groups are available
	partial      bool       // but not for all limits
	hold         bool       // limits can be set before a program's first instruction
	vfork        bool       // by the child itself
	files        proc.Files // the limit of open files of such a child
	memory, pids string
}

// findMeans tests what is available by creating a cell and removing it.
func (r *Runner) findMeans() means {
	var m means
	m.files, m.hold = proc.CanHold()
	m.vfork = m.hold && vfork.Able()
	if need := r.need(r.cfg.Memory); need != (cgroup.Need{}) {
		cell, missing := cgroup.NewCell(r.id.cellName(0), need)
		if missing == nil {
			missing = cell.Missing()
			by := fmt.Sprintf("cgroup v%d", cell.Version())
			m.cell, m.partial = true, missing != nil
			if cell.Memory() {
				m.memory = by
			}
			if cell.Pids() {
				m.pids = by
			}
			if err := cell.Remove(); err != nil {
				r.cfg.Log.Warn("cannot remove a group", "why", err)
			}
		}
		if missing != nil {
			r.cfg.Log.Info("the kernel's groups enforce only some of the limits", "why", missing)
		}
	}
	if m.memory == "" {
		m.memory = "checks every " + lookEvery.String()
	}
	if m.pids == "" && os.Getuid() > 0 {
		m.pids = "rlimit"
	}
	return m
}

// Limits describes in words which limits are enforced, and how.
func (r *Runner) Limits() string {
	var parts []string
	say := func(wanted bool, what, by string) {
		switch {
		case !wanted:
			parts = append(parts, what+" not limited")
		case by == "":
			parts = append(parts, what+" cannot be limited here")
		default:
			parts = append(parts, what+" by "+by)
		}
	}
	say(r.cfg.Memory > 0, "memory", r.means.memory)
	say(r.cfg.Pids > 0, "processes", r.means.pids)
	say(r.cfg.CPU > 0, "cpu", "rlimit")
	return strings.Join(parts, ", ")
}

// rlimits returns the limits of the process itself. It omits those that its cell enforces.
func (r *Runner) rlimits(s *slot, tag proc.Tag) proc.Limits {
	l := proc.Limits{Tag: tag}
	if r.cfg.CPU > 0 {
		l.CPU = int64((r.cfg.CPU + time.Second - 1) / time.Second)
	}
	if s.memory > 0 && (s.cell == nil || !s.cell.Memory()) {
		l.Data = max(2*s.memory, s.memory+dataHeadroom)
	}
	if r.cfg.Pids > 0 && (s.cell == nil || !s.cell.Pids()) && os.Getuid() > 0 {
		l.Tasks = r.tasks.limit(r)
	}
	return l
}

// taskCount caches how many processes our user has. The kernel limits them per user, so a job's limit is added to the
// present number.
type taskCount struct {
	mu    sync.Mutex // guards the fields below
	base  int
	until time.Time
}

const countFor = time.Second

func (t *taskCount) limit(r *Runner) int64 {
	r.mu.Lock()
	jobs := len(r.live) + 1
	r.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.After(t.until) {
		n, err := proc.Tasks()
		if err != nil {
			return 0
		}
		t.base, t.until = n, now.Add(countFor)
	}
	return int64(t.base + jobs*r.cfg.Pids)
}
