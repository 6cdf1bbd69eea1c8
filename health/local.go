package health

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/bezoar-dev/bezoar/internal/process/procstat"
	policy "github.com/bezoar-dev/bezoar/policy/health"
)

// addLocal adds the checks of this machine.
func (h *Health) addLocal() {
	c := h.cfg
	h.local("memory", "used", c.Memory, func(context.Context) sample {
		m, err := h.source.memory()
		return numbered(m.Used(), err, fmt.Sprintf("%d of %d bytes of the machine are available, %d of the %d that our group may have are used",
			m.Available, m.Total, m.Group.Used, m.Group.Limit))
	})
	h.local("fds", "used", c.FDs, func(context.Context) sample {
		v, err := h.source.self()
		share, known := v.FDShare()
		if err == nil && !known {
			return sample{skipped: "file descriptors have no limit, or may not be counted"}
		}
		return numbered(share, err, fmt.Sprintf("%d of %d file descriptors are open", v.FDs, v.FDLimit))
	})
	h.local("cpu", "waiting", c.CPU, func(context.Context) sample {
		p, err := h.source.cpu()
		return numbered(p.CPU.Some.Avg10, err, fmt.Sprintf("something waited for a processor in %.0f %% of the last 10 s", 100*p.CPU.Some.Avg10))
	})
	for _, d := range c.Disks {
		h.local(d.Name, "used", d.Limits, func(context.Context) sample {
			s, err := h.source.disk(d.Path)
			return numbered(s.Used(), err, fmt.Sprintf("%s: %d of %d bytes are available, %d of %d inodes are free",
				d.Path, s.Available, s.Total, s.FreeInodes, s.Inodes))
		})
	}
}

func (h *Health) local(name, measure string, l Limits, look func(context.Context) sample) {
	if !l.On() {
		return
	}
	h.probes = append(h.probes, &probe{
		entry:    entry{name: name, kind: Local},
		interval: h.cfg.Interval, timeout: h.cfg.Timeout,
		measure: measure, look: look, broken: math.NaN(), gauge: policy.Gauge{Limits: l},
	})
}

// numbered is what a look at this machine has found.
func numbered(value float64, err error, detail string) sample {
	switch {
	case errors.Is(err, procstat.ErrUnsupported):
		return sample{skipped: "this system does not tell", detail: err.Error()}
	case err != nil:
		return sample{broken: true, detail: err.Error()}
	}
	return sample{value: value, detail: detail}
}

// cpuPressure is the pressure on our own group, which a limit of processor time
// raises too, or else on the machine.
func cpuPressure() (procstat.PSI, error) {
	if g, err := procstat.GroupOf(os.Getpid()); err == nil {
		if p, err := g.Pressure(); err == nil {
			return p, nil
		}
	}
	return procstat.Pressure()
}
