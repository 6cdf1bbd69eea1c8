package health

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	policy "github.com/bezoar-dev/bezoar/policy/health"
)

// The words of the policy, so that users import one package.
type (
	// State is how something is: [OK], [Degraded] or [Failing].
	State = policy.State
	// Result is how a measured call ended.
	Result = policy.Result
	// Band is an upper and a lower threshold.
	Band = policy.Band
	// Limits says when a number is too high, and for how long.
	Limits = policy.Limits
	// Rules says how measured calls are judged.
	Rules = policy.Rules
)

// The states and the results.
const (
	OK       = policy.OK
	Degraded = policy.Degraded
	Failing  = policy.Failing

	Good    = policy.Good
	Failed  = policy.Failed
	Timeout = policy.Timeout
	Ignored = policy.Ignored
)

// Off as the Upper of a band turns the band off.
const Off = policy.Off

// Never returns limits that no value exceeds. A check with them does not run.
func Never() Limits {
	off := Band{Upper: Off, Lower: Off}
	return Limits{Degraded: off, Failing: off}
}

// MaxChecks bounds the number of checks, of dependencies and of loops.
const MaxChecks = 256

// Config says what to check. The zero value is ready.
type Config struct {
	Interval time.Duration // between two runs of a check, spread by a tenth; 100 ms to 1 h, default 5 s
	Timeout  time.Duration // of one run; default Interval, at most 2 s

	Memory Limits // share of memory in use, of the machine or of our control group; default degraded 0.85 to 0.8, failing 0.95 to 0.9
	FDs    Limits // share of file descriptors in use; default degraded 0.8 to 0.7, failing 0.95 to 0.9
	CPU    Limits // share of the last 10 s in which work waited for a processor; default degraded 0.6 to 0.4, for and calm 15 s, failing off
	Disks  []Disk // nil: the disk of the working directory; empty: none

	Verbose bool         // whether ?verbose may show details: errors, paths, addresses
	Log     *slog.Logger // gets every change of state; nil discards
}

// Disk is a check of the free bytes and inodes of a disk.
type Disk struct {
	Name   string // of the check; default "disk"
	Path   string // of any file on the disk; default "."
	Limits Limits // share in use; default degraded 0.9 to 0.85, failing 0.97 to 0.95
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	c.Interval = cmp.Or(c.Interval, 5*time.Second)
	c.Timeout = cmp.Or(c.Timeout, min(c.Interval, 2*time.Second))
	c.Memory = c.Memory.Or(Limits{Degraded: Band{Upper: 0.85, Lower: 0.8}, Failing: Band{Upper: 0.95, Lower: 0.9}})
	c.FDs = c.FDs.Or(Limits{Degraded: Band{Upper: 0.8, Lower: 0.7}, Failing: Band{Upper: 0.95, Lower: 0.9}})
	c.CPU = c.CPU.Or(Limits{
		Degraded: Band{Upper: 0.6, Lower: 0.4}, Failing: Never().Failing, For: 15 * time.Second, Calm: 15 * time.Second,
	})
	if c.Disks == nil {
		c.Disks = []Disk{{}}
	}
	disks := make([]Disk, len(c.Disks))
	for i, d := range c.Disks {
		d.Name = cmp.Or(d.Name, "disk")
		d.Path = cmp.Or(d.Path, ".")
		d.Limits = d.Limits.Or(Limits{Degraded: Band{Upper: 0.9, Lower: 0.85}, Failing: Band{Upper: 0.97, Lower: 0.95}})
		disks[i] = d
	}
	c.Disks = disks
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List
	errs.If(c.Interval < 100*time.Millisecond || c.Interval > time.Hour, "interval is %v, want 100ms to 1h", c.Interval)
	errs.If(c.Timeout < time.Millisecond || c.Timeout > time.Hour, "timeout is %v, want 1ms to 1h", c.Timeout)
	limits := func(name string, l Limits) {
		errs.In(l.Validate(), "%s", name)
	}
	limits("memory", c.Memory)
	limits("fds", c.FDs)
	limits("cpu", c.CPU)
	errs.If(len(c.Disks) > maxDisks, "disks are %d, want %d at most", len(c.Disks), maxDisks)
	names := map[string]bool{"memory": true, "fds": true, "cpu": true}
	for i, d := range c.Disks {
		errs.In(checkName(d.Name), "disks[%d]", i)
		errs.If(names[d.Name], "disks[%d]: name %q is taken", i, d.Name)
		names[d.Name] = true
		limits(fmt.Sprintf("disks[%d]", i), d.Limits)
	}
	return errors.Join(errs...)
}

const (
	maxDisks = 32
	maxName  = 64
)

// checkName wants a name that can stand in a URL, a log and a label.
func checkName(name string) error {
	ok := name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/-", r))
	})
	if !ok {
		return fmt.Errorf("name is %.80q, want 1 to %d letters, digits and ._:/-", name, maxName)
	}
	return nil
}
