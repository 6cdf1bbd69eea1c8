package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/adminapi"
	"github.com/bezoar-dev/bezoar/internal/demo/screen"
	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
)

// How often a terminal is redrawn, a progress line is written, and the share of
// answered requests gets another block.
const (
	drawEvery     = 100 * time.Millisecond
	progressEvery = 2 * time.Second
	tickEvery     = 250 * time.Millisecond
)

// A view watches one half while it runs.
type view struct {
	cfg     Config
	title   string
	guarded bool
	stage   stage
	toll    *toll
	tally   *traffic.Tally
	began   time.Time

	ticks    []float64      // share of good requests answered, per tick
	lastTick time.Time      // when the last was added
	before   traffic.Counts // at the last tick
}

// maxTicks bounds what is kept for the line of answered requests.
const maxTicks = 512

// errOver is why a view ends when everything has been shown.
var errOver = errors.New("it is over")

// watch shows the half until ctx ends.
func (v *view) watch(ctx context.Context) error {
	if v.cfg.Width == nil || v.cfg.JSON {
		return v.lines(ctx)
	}
	s := screen.New(v.cfg.Out, v.cfg.Width, v.cfg.Color)
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	for {
		if err := s.Draw(v.frame()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errOver) {
				_ = s.Draw(v.frame()) // the end; Leave says what is wrong with the terminal
			}
			return s.Leave()
		}
	}
}

// lines writes progress for people who see no picture.
func (v *view) lines(ctx context.Context) error {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		c := v.tally.Counts()
		lost, _ := v.toll.count()
		_, err := fmt.Fprintf(v.cfg.Err, "%s: %2.0f s, %s sent, %s lost, %d of %d good requests answered, %d wait\n",
			v.title, time.Since(v.began).Seconds(), plural(c.PillsSent, "pill"), plural(int64(lost), "worker"), c.GoodOK, c.GoodSent, c.Waiting())
		if err != nil {
			return err
		}
	}
}

func (v *view) frame() screen.Frame {
	c := v.tally.Counts()
	v.tick(c)
	fleet := v.stage.Fleet()
	f := screen.Frame{
		Title: v.title, Explain: v.cfg.Pill.Explain(),
		Elapsed: min(time.Since(v.began), v.cfg.Length), Length: v.cfg.Length,
		Tiles: tiles(fleet), Guarded: v.guarded, Waiting: fleet.Lane.Waiting,
		GoodSent: c.GoodSent, GoodOK: c.GoodOK, GoodRefused: c.GoodRefused,
		PillsSent: c.PillsSent, PillsRefused: c.PillsRefused, P99: c.P99,
		Served: v.ticks, Log: v.toll.tail(),
	}
	f.Lost, _ = v.toll.count()
	if v.guarded {
		ctx, cancel := context.WithTimeout(context.Background(), drawEvery)
		defer cancel()
		for _, verdict := range v.stage.Verdicts(ctx) {
			switch verdict.State {
			case bezoar.Quarantined, bezoar.Probing:
				f.Convict++
			case bezoar.Suspected, bezoar.Conditional, bezoar.Laned:
				f.Suspect++
			}
		}
	}
	return f
}

// tick adds the share of the good requests that came to an end in the last
// quarter of a second and were answered right.
func (v *view) tick(c traffic.Counts) {
	now := time.Now()
	if now.Sub(v.lastTick) < tickEvery {
		return
	}
	v.lastTick = now
	ended := (c.GoodSent - c.Waiting()) - (v.before.GoodSent - v.before.Waiting())
	share := -1.0
	switch {
	case ended > 0:
		share = float64(c.GoodOK-v.before.GoodOK) / float64(ended)
	case c.Waiting() > 0:
		share = 0 // everybody waits
	}
	v.before = c
	v.ticks = append(v.ticks, share)
	if len(v.ticks) > maxTicks {
		v.ticks = v.ticks[1:]
	}
}

func tiles(f adminapi.Fleet) []screen.Tile {
	all := make([]screen.Tile, 0, len(f.Workers))
	for _, w := range f.Workers {
		t := screen.Tile{Name: w.Name, InFlight: w.InFlight, Deaths: int(w.Restarts)}
		switch {
		case w.State == "ready" && w.Lane, w.State == "lane":
			t.State = screen.Lane
		case w.State == "ready":
			t.State = screen.Serving
		case w.State == "starting":
			t.State = screen.Starting
		case w.State == "draining":
			t.State = screen.Draining
		default:
			t.State = screen.Dead
		}
		all = append(all, t)
	}
	return all
}

// say writes one line where progress goes.
func (c Config) say(format string, args ...any) {
	w := c.Err
	if c.Width != nil && !c.JSON {
		w = c.Out
	}
	_, _ = fmt.Fprintf(w, format+"\n", args...) // the report will fail as well
}
