package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/health"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/metrics"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxletters"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/outbox"
)

// outboxesOf returns the outboxes of the settings by name. It keeps those that run with the same settings.
func (a *App) outboxesOf(now *present, cfg *config.Config) (map[string]*outboxRun, error) {
	out := make(map[string]*outboxRun, len(cfg.Outbox))
	var errs []error
	for name, c := range cfg.Outbox {
		if old := now.outboxes[name]; old != nil && old.same(c) {
			out[name] = old
			continue
		}
		r, err := a.newOutbox(name, c)
		errs = append(errs, err)
		out[name] = r
	}
	return out, errors.Join(errs...)
}

func (a *App) openOutboxes() (err error) {
	p := a.now.Load()
	p.outboxes, err = a.outboxesOf(p, &a.cfg)
	return err
}

// newOutbox checks what can be checked without the database and the sinks.
func (a *App) newOutbox(name string, c config.Outbox) (*outboxRun, error) {
	at, r := "outbox."+name, &outboxRun{app: a, name: name, cfg: c, database: c.Database}
	var errs []error
	if c.DatabaseEnv != "" {
		if r.database = os.Getenv(c.DatabaseEnv); r.database == "" {
			errs = append(errs, fmt.Errorf("%s.database_env: the environment has no %s", at, c.DatabaseEnv))
		}
	}
	_, closing, err := r.routes(context.Background()) // connects to nothing
	closing()
	errs = append(errs, err)
	r.letters = outboxletters.New(name, func() (outbox.Letters, error) { return r.open() }, a.log)
	return r, errors.Join(errs...)
}

// replaceOutboxes starts and stops relays to match p.
func (a *App) replaceOutboxes(p *present) error {
	for _, service := range a.relays.names() {
		if r := p.outboxes[service]; r == nil || !a.relays.same(service, r.cfg) {
			a.relays.end(service)
			a.health.Remove("outbox:" + service)
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.outboxes)) {
		r := p.outboxes[name]
		if a.relays.same(name, r.cfg) {
			continue
		}
		errs = append(errs, a.health.Check("outbox:"+name, health.CheckConfig{
			Func: r.look, Interval: lookEvery, Times: 1,
			// Waiting events are no reason to send callers of a gateway elsewhere.
			Optional: len(p.cfg.Routes)+len(p.cfg.Queues) > 0,
		}))
		a.relays.run(name, r.cfg, r.Run)
	}
	return errors.Join(errs...)
}

// outboxLetters returns the parked events of outboxes as letters.
func outboxLetters(p *present) (all []triage.Source) {
	for _, name := range slices.Sorted(maps.Keys(p.outboxes)) {
		all = append(all, p.outboxes[name].letters)
	}
	return all
}

// outboxPatience bounds a question to the databases of outboxes.
const outboxPatience = 3 * time.Second

func (a *App) outboxList(ctx context.Context) []adminapi.Outbox {
	all := []adminapi.Outbox{}
	for _, r := range a.allOutboxes() {
		st, err := r.status(ctx)
		o := adminapi.NewOutbox(r.name, r.kind(), st)
		if err != nil {
			o.Error = err.Error()
		}
		o.Here(r.stats())
		o.Slots = r.slotList()
		all = append(all, o)
	}
	return all
}

func (a *App) outboxNumbers() []metrics.Outbox {
	ctx, cancel := context.WithTimeout(context.Background(), outboxPatience)
	defer cancel()
	var out []metrics.Outbox
	for _, r := range a.allOutboxes() {
		st, err := r.status(ctx)
		out = append(out, metrics.Outbox{Name: r.name, Stats: r.stats(), Status: st, Known: err == nil})
	}
	return out
}

func (a *App) allOutboxes() []*outboxRun {
	all := slices.Collect(maps.Values(a.now.Load().outboxes))
	sorted.Func(all, func(a, b *outboxRun) int { return cmp.Compare(a.name, b.name) })
	return all
}

// notOpen is the error for an outbox whose database has not answered yet.
func notOpen() error {
	return adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable, "the outbox's database has not answered yet")
}
