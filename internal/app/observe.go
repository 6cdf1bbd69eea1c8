package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/metrics"
	"github.com/bezoar-dev/bezoar/internal/control/tracing"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/span"
)

// observability observes requests. It survives a reload, and so do its counters.
type observability struct {
	counts  *metrics.Requests
	tracing *tracing.Tracing // nil: none
	printer *fingerprint.Printer
	log     atomic.Pointer[accessLog]
	retries atomic.Pointer[[]retries]
}

// accessLog is the log of requests for one generation of the settings.
type accessLog struct {
	cfg  *config.AccessLog // nil: no log
	log  *accesslog.Log
	file io.Closer // nil: no file
}

// close is called when other settings apply. Lines of requests that end later are lost if they had their own file.
func (l *accessLog) close() {
	if l != nil && l.file != nil {
		_ = l.file.Close() // all lines have been written
	}
}

// retries are the budgets of a route's retries.
type retries struct {
	route  metrics.Route
	budget *dispatch.Retry
}

// openObservability makes the observers of requests.
func (a *App) openObservability(ctx context.Context) error {
	s := &a.observability
	var err error
	if s.counts, err = metrics.New(metrics.Config{}); err != nil {
		return err
	}
	if s.printer, err = fingerprint.New(a.key, fingerprint.Config{}); err != nil {
		return err
	}
	if t := a.cfg.Tracing; t != nil {
		s.tracing, err = tracing.New(ctx, tracing.Config{
			Endpoint: t.Endpoint, Sample: float64(t.Sample), Version: version(), Node: a.node, Log: a.log,
		})
		if err != nil {
			return err
		}
	}
	return a.see(a.now.Load(), nil, nil)
}

// version returns the version of the program from its build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// see sets how requests are observed, as next says. Requests of before's routes are still in flight; nil: there are none.
func (a *App) see(next, before *present, routes []gateway.Route) error {
	s := &a.observability
	set := metrics.Settings{Routes: routesOf(&next.cfg), Shown: s.shown(&next.cfg), Labels: fmt.Sprint(labelsOf(&next.cfg))}
	if before != nil {
		for _, r := range routesOf(&before.cfg) {
			if !slices.Contains(set.Routes, r) {
				set.Routes = append(set.Routes, r)
			}
		}
	}
	if err := s.counts.Update(set); err != nil {
		return err
	}
	if routes != nil {
		list := []retries{}
		for i, r := range routesOf(&next.cfg) {
			if routes[i].Retry != nil {
				list = append(list, retries{r, routes[i].Retry})
			}
		}
		s.retries.Store(&list)
	}
	return s.logAs(next.cfg.AccessLog, a.log)
}

// routesOf returns the routes that are counted, in the order of the settings.
func routesOf(cfg *config.Config) []metrics.Route {
	out := make([]metrics.Route, 0, len(cfg.Routes))
	for i := range cfg.Routes {
		r := metrics.Route{Name: routeName(i, cfg.Routes[i])}
		if cfg.Routes[i].Works() {
			r.Fleet = cfg.Routes[i].Fleet
		}
		out = append(out, r)
	}
	return out
}

// hash returns the name of a caller whose real name must not be shown.
func (s *observability) hash(caller string) string { return s.printer.Client(caller).String() }

func (s *observability) logAs(cfg *config.AccessLog, log *slog.Logger) error {
	if was := s.log.Load(); was != nil && (was.cfg == nil) == (cfg == nil) && (cfg == nil || *was.cfg == *cfg) {
		return nil // the log and its rate go on
	}
	if cfg == nil {
		s.log.Swap(&accessLog{}).close()
		return nil
	}
	c := accesslog.Config{
		Log: log, Every: -1, Rate: float64(cfg.Errors), Burst: cfg.Errors, Clear: cfg.Caller == config.ShowClear, Paths: cfg.Paths,
	}
	file, err := lineFormat(&c, cfg)
	if err != nil {
		return fmt.Errorf("access_log: %w", err)
	}
	if cfg.Sample > 0 {
		c.Every = max(int(math.Round(1/float64(cfg.Sample))), 1)
	}
	if cfg.Caller == config.ShowHash {
		c.Printer = s.printer
	}
	l, err := accesslog.New(c)
	if err != nil {
		return fmt.Errorf("access_log: %w", err)
	}
	s.log.Swap(&accessLog{cfg, l, file}).close()
	return nil
}

// lineFormat makes c write its own lines, if cfg wants that. It returns what to close; nil for nothing.
func lineFormat(c *accesslog.Config, cfg *config.AccessLog) (io.Closer, error) {
	if cfg.Format == "log" || cfg.Format == "" {
		return nil, nil
	}
	var out io.Writer = os.Stdout
	var file io.Closer
	if cfg.File != "" {
		f, err := openLogFile(cfg.File)
		if err != nil {
			return nil, err
		}
		out, file = f, f
	}
	c.Log = nil
	if cfg.Format == "combined" {
		c.Combined = out
	} else {
		c.Log, c.Details = slog.New(slog.NewJSONHandler(out, nil)), true
	}
	return file, nil
}

// observe gets every request that has ended.
func (s *observability) observe(r *accesslog.Record) {
	s.counts.Observe(r)
	l := s.log.Load()
	if l == nil || l.log == nil || l.cfg.Errors == 0 && (r.Rule != "" || r.Fallback != "" || r.Cut || r.Status >= 500 || r.Status == 429) {
		return
	}
	l.log.Observe(r)
}

// tracer returns the gateway's tracer; a nil interface if there is none.
func (s *observability) tracer() span.Tracer {
	if s.tracing == nil {
		return nil
	}
	return s.tracing
}

// run runs the background work of the observers.
func (s *observability) run(in *stage, failed func(string, error) error) {
	in.run("request metrics", s.counts.Run, failed)
	if s.tracing != nil {
		in.run("tracing", s.tracing.Run, failed)
	}
}
