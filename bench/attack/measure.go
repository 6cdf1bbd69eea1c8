package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
)

// Measure runs row after row, each with fresh workers and an empty store.
func Measure(ctx context.Context, cfg Config, progress io.Writer) (*Report, error) {
	report := newReport(cfg)
	picked, _ := chosen(cfg.Rows)
	absent := map[string]bool{}
	for _, r := range picked {
		proxies := []func() (*Run, error){func() (*Run, error) { return measureRow(ctx, cfg, r) }}
		for _, rv := range rivals() {
			switch {
			case !cfg.Peers || !r.peers:
			case peer.Installed(rv.program):
				proxies = append(proxies, func() (*Run, error) { return measurePeer(ctx, cfg, r, rv) })
			case !absent[rv.program]:
				absent[rv.program] = true
				report.Skipped = append(report.Skipped, rv.program+" is not installed, its rows were left out: run scripts/peers")
			}
		}
		for _, measure := range proxies {
			line, err := repeat(cfg, r, measure, progress)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
			report.Rows = append(report.Rows, line)
		}
	}
	return report, nil
}

// repeat runs a row as often as wanted.
func repeat(cfg Config, r row, measure func() (*Run, error), progress io.Writer) (Row, error) {
	line := Row{Name: r.name, What: r.what, Bound: r.bound.text}
	for i := range cfg.Runs {
		run, err := measure()
		if err != nil {
			return line, err
		}
		run.judge(r.bound)
		line.Runs = append(line.Runs, run)
		fmt.Fprintf(progress, "%s, run %d of %d: %s\n", r.name, i+1, cfg.Runs, run.summary())
		if cfg.Explain {
			for _, note := range run.explain() {
				fmt.Fprintln(progress, "  ", note)
			}
		}
	}
	line.Worst = worst(line.Runs)
	return line, nil
}

// A scene is one run of one row.
type scene struct {
	cfg        Config
	row        row
	world      *world
	tally      *tally
	crowd      *crowd
	begin, end time.Time // of the attack
	kills      int       // of Bezoar itself
}

func measureRow(ctx context.Context, cfg Config, r row) (*Run, error) {
	bench, err := peer.New(peer.Config{Bezoar: cfg.Bezoar, Health: healthPath})
	if err != nil {
		return nil, err
	}
	defer bench.Close()
	g, err := newGate(ctx, cfg, bench, r.set)
	if err != nil {
		return nil, err
	}
	if err := g.start(ctx, cfg.Workers); err != nil {
		return nil, err
	}
	s := newScene(cfg, r, g.addr)
	defer s.crowd.close()
	evidence := newFile()
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		evidence.watch(watching, g)
	}()
	err = s.play(ctx, g)
	stop()
	<-watched
	if err != nil {
		return nil, err
	}
	return s.sumUp(ctx, g, evidence)
}

func newScene(cfg Config, r row, addr string) *scene {
	s := &scene{cfg: cfg, row: r, world: newWorld(7, cfg.Callers == shared), tally: newTally()}
	s.crowd = newCrowd(addr, s.tally, cfg.Callers == byHeader)
	s.crowd.http2 = r.set.http2
	return s
}

// play sends everything and waits for the answers. g is for the row's script.
func (s *scene) play(ctx context.Context, g *gate) error {
	s.begin = time.Now().Add(lead)
	s.end = s.begin.Add(s.cfg.Length)
	s.tally.count(s.begin, s.end)
	good, rate := s.row.good, s.cfg.Rate
	if good == nil {
		good = (*world).mix
	}
	if s.row.rate > 0 {
		rate = s.row.rate
	}
	streams := []stream{{rate: float64(rate), after: -lead, make: s.world.bind(good)}}
	if s.row.also != nil {
		for _, also := range s.row.also(s.world) {
			if also.rate > 0 {
				also.after -= lead
			}
			streams = append(streams, also)
		}
	}
	if s.row.evil != nil {
		streams = append(streams, s.row.evil(s.world)...)
	}
	for i, st := range streams {
		s.crowd.senders.Go(func() { s.crowd.play(ctx, st, uint64(i), s.begin, s.end) })
	}
	var err error
	if s.row.script != nil && g != nil {
		err = s.row.script(ctx, s, g)
	}
	s.crowd.senders.Wait()
	s.crowd.wg.Wait() // each has its patience
	if err != nil {
		return err
	}
	return context.Cause(ctx)
}

// sumUp reads what workers and Bezoar say, while they still run.
func (s *scene) sumUp(ctx context.Context, g *gate, evidence *file) (*Run, error) {
	b, err := g.lives.count()
	if err != nil {
		return nil, err
	}
	f, err := g.fleet(ctx)
	if err != nil {
		return nil, err
	}
	run := newRun(bezoar, s.tally)
	run.Started, run.Lost, run.LostByPill, run.LostByAPI = b.started, b.lost, b.pills, f.Counters["deaths"]
	if run.Kills = s.kills; run.Kills > 0 {
		run.LostByAPI = -1 // who was killed has not counted on
	}
	if s.row.faults != nil {
		run.Faults = s.row.faults(s, run, b)
	}
	run.Evidence, err = evidence.findings(ctx, g, s.tally, func(again *shot) ending {
		return s.crowd.call(ctx, again, s.tally.begun(again))
	})
	return run, err
}
