package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/state/lastrun"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// Level is the severity of a finding.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // it works, and may not for long, or not as is meant
	Fault   Level = "fault"   // it does not work, or is open to others
)

// Finding is the result of one check.
type Finding struct {
	Level Level  `json:"level"`
	Check string `json:"check"` // settings, ports, files, memory, kernel, disk, store, clock, secrets, certificates, version or health
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`
}

// Config says what to examine.
type Config struct {
	Settings config.Config
	File     string           // file of the settings; "": none
	Version  string           // of this program
	Admin    *adminapi.Client // client of the running Bezoar; nil: none is asked
	Machine  Machine          // default: this one
}

func (c Config) Validate() error {
	if c.Settings.Store == "" {
		return errors.New("doctor: Settings: no store is named")
	}
	return nil
}

// patience bounds every check that waits for another process.
const patience = 10 * time.Second

type examination struct {
	Config
	run   lastrun.Present // the process that has the state folder
	store store.Inspection
	found []Finding
}

// Run does all checks and returns the findings, faults first.
func Run(ctx context.Context, c Config) ([]Finding, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Machine = c.Machine.orThis()
	e := &examination{Config: c}
	for _, look := range []func(context.Context){
		e.settings, e.state, e.stores, e.ports, e.files, e.memory, e.kernel, e.disks, e.secrets, e.certificates, e.running,
	} {
		e.within(ctx, look)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	rank := map[Level]int{Fault: 0, Warning: 1, OK: 2}
	sorted.StableFunc(e.found, func(a, b Finding) int { return rank[a.Level] - rank[b.Level] })
	return e.found, nil
}

func (e *examination) within(ctx context.Context, look func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	look(ctx)
}

func (e *examination) ok(check, format string, args ...any) {
	e.found = append(e.found, Finding{OK, check, fmt.Sprintf(format, args...), ""})
}

func (e *examination) warn(check, fix, format string, args ...any) {
	e.found = append(e.found, Finding{Warning, check, fmt.Sprintf(format, args...), fix})
}

func (e *examination) warnIf(bad bool, check, fix, format string, args ...any) {
	if bad {
		e.warn(check, fix, format, args...)
	}
}

func (e *examination) fault(check, fix, format string, args ...any) {
	e.found = append(e.found, Finding{Fault, check, fmt.Sprintf(format, args...), fix})
}

// pid returns the process that runs this deployment; 0 if none is known.
func (e *examination) pid() int {
	switch {
	case e.run.Running:
		return e.run.PID
	case e.store.Held:
		return e.store.Owner
	}
	return 0
}

// runs reports whether a process has the state folder or the file of the store.
func (e *examination) runs() bool { return e.run.Running || e.store.Held }
