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
)

// slot is a place for one job at a time: a thread to fork from, and where it may
// be had a cell to run in. It is used again: making both for each job would cost
// as much as the job's fork.
type slot struct {
	thread *proc.Thread
	cell   *cgroup.Cell // nil without
	memory int64        // that its jobs may use; 0: no limit
	spoilt bool         // must not be used again
	null   *os.File     // the stdin of jobs that get none; nil until there is one

	// The memory of these is used again.
	buf            []byte // of [chunk] bytes, once it was needed
	stdout, stderr proc.Tail
}

// spoiltShare of the memory limit may be left charged to a cell before it is
// made anew: files in memory that a job has left would count against the next.
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
		r.cfg.Log.Warn("not all limits of a job are kept by a group", "why", cell.Missing())
	}
	s.cell = cell
	return s
}

// nothing returns a stdin that is at its end.
func (s *slot) nothing() (fd uintptr, err error) {
	if s.null == nil {
		if s.null, err = os.Open(os.DevNull); err != nil {
			return 0, err
		}
	}
	return s.null.Fd(), nil
}

// close ends what the slot holds. Its job must be over.
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

// Cells begins the names of all memory groups of the runner's mark.
func (r *Runner) Cells() string { return r.id.tag() }

// tag begins the names of all cells of one mark.
func (id identity) tag() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id.mark))
	return fmt.Sprintf("job-%016x.", h.Sum64())
}

func (id identity) cellName(n uint64) string { return fmt.Sprintf("%s%d.%d", id.tag(), id.born, n) }

// means says by what limits are kept on this machine.
type means struct {
	cell         bool // there are groups
	partial      bool // but not for all that is wanted
	hold         bool // limits can be set before a program's first instruction
	memory, pids string
}

// findMeans makes a cell and removes it again.
func (r *Runner) findMeans() means {
	m := means{hold: proc.CanHold()}
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
				r.cfg.Log.Warn("a group stays", "why", err)
			}
		}
		if missing != nil {
			r.cfg.Log.Info("limits cannot all be kept by groups", "why", missing)
		}
	}
	if m.memory == "" {
		m.memory = "looking every " + lookEvery.String()
	}
	if m.pids == "" && os.Getuid() > 0 {
		m.pids = "rlimit"
	}
	return m
}

// Limits says for people which limits hold, and by which means.
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

// rlimits are what the process is limited to by itself. What its cell limits is
// left out.
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

// taskCount remembers how many processes our user has: the kernel limits them
// per user, so that a job's limit stands on top of all that there are.
type taskCount struct {
	mu    sync.Mutex // guards what follows
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
