package watchdog

import (
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/process/procstat"
)

// kernel samples processes by the kernel's statistics.
type kernel struct {
	d    *Watchdog
	seen map[string]process // by worker
}

// process is the process of one life of a worker.
type process struct {
	life  uint64
	pid   int
	birth uint64 // distinguishes it from a later process with its id
}

func (k *kernel) sample(w Worker) (Sample, error) {
	if w.PID <= 0 {
		return Sample{}, procstat.ErrGone
	}
	v, err := procstat.Of(w.PID)
	if err != nil {
		if errors.Is(err, procstat.ErrUnsupported) {
			k.d.note("processes", err)
		}
		return Sample{}, err
	}
	p, ok := k.seen[w.Name]
	if !ok || p.life != w.Life || p.pid != w.PID {
		p = process{life: w.Life, pid: w.PID, birth: v.Birth}
		k.forget()
	}
	if p.birth != v.Birth {
		return Sample{}, fmt.Errorf("process %d of worker %s: %w", w.PID, w.Name, procstat.ErrGone)
	}
	s := Sample{Memory: v.RSS, Threads: v.Threads}
	if share, ok := v.FDShare(); ok {
		s.Descriptors = share
	} else if v.FDs == procstat.Unknown {
		k.d.note("descriptors", errors.New("not permitted"))
	}
	k.seen[w.Name] = p
	return s, nil
}

// forget limits the size of seen; dropped entries are found again.
func (k *kernel) forget() {
	if len(k.seen) >= 2*maxSeen {
		clear(k.seen)
	}
}

const maxSeen = 1024
