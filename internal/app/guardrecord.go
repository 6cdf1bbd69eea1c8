package app

import (
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

// recordPrefix begins the names of the services that record queries.
const recordPrefix = "record in "

// queryFile is a file in which queries are recorded. It survives a reload.
type queryFile struct {
	max      config.Size
	recorder *guardfront.Recorder
}

// recordOf returns how to record the queries of a route. The caller holds a.guards.mu.
func (a *App) recordOf(c *config.GuardRecord) (guardfront.Record, error) {
	if c == nil {
		return guardfront.Record{}, nil
	}
	f := a.guards.records[c.File]
	if f == nil || f.max != c.MaxBytes {
		r, err := guardfront.NewRecorder(guardfront.RecorderConfig{File: c.File, MaxBytes: int64(c.MaxBytes), Log: a.log})
		if err != nil {
			return guardfront.Record{}, err
		}
		f = &queryFile{c.MaxBytes, r}
		if a.guards.records == nil {
			a.guards.records = map[string]*queryFile{}
		}
		a.guards.records[c.File] = f
	}
	return guardfront.Record{Recorder: f.recorder, Sample: float64(c.Sample)}, nil
}

// replaceRecords starts and stops recorders to match the guards.
func (a *App) replaceRecords() {
	wanted := map[string]bool{}
	for _, g := range a.guards.list() {
		c := g.cfg.Record
		if c == nil {
			continue
		}
		service := recordPrefix + c.File
		wanted[service] = true
		a.guards.mu.Lock()
		f := a.guards.records[c.File]
		a.guards.mu.Unlock()
		if f != nil && !a.outer.same(service, f) {
			a.outer.run(service, f, f.recorder.Run)
		}
	}
	for _, service := range a.outer.names() {
		file, ok := strings.CutPrefix(service, recordPrefix)
		if !ok || wanted[service] {
			continue
		}
		a.outer.end(service)
		a.guards.mu.Lock()
		if f := a.guards.records[file]; f != nil {
			a.log.Info("queries are no longer recorded", "file", file, "was", fmt.Sprintf("%+v", f.recorder.Stats()))
			delete(a.guards.records, file)
		}
		a.guards.mu.Unlock()
	}
}

// recorded returns the state of recording a guard's queries; nil if they are not recorded.
func (a *App) recorded(g *routeGuard) *adminapi.GuardRecord {
	c := g.cfg.Record
	if c == nil {
		return nil
	}
	a.guards.mu.Lock()
	f := a.guards.records[c.File]
	a.guards.mu.Unlock()
	if f == nil {
		return nil
	}
	s := f.recorder.Stats()
	return &adminapi.GuardRecord{File: c.File, Recorded: s.Recorded, Dropped: s.Dropped}
}
