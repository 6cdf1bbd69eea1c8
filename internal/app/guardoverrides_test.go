package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// overridden is an App of which only the guards are there, on a node that
// follows s.
func overridden(t *testing.T, s live.Store, node string) (*App, *live.Live) {
	t.Helper()
	a := &App{log: slog.New(slog.DiscardHandler)}
	a.now.Store(&present{cfg: config.Config{Routes: []config.Route{
		{Match: config.Match{Path: "/a/*"}}, {Match: config.Match{Path: "/b/*"}}, {Match: config.Match{Path: "/c/*"}},
	}}})
	a.guards.all = map[string]*routeGuard{}
	for _, route := range []string{"/a/*", "/b/*"} {
		limits, err := guard.ParseLimits("rules", []byte("classes: {batch: {match: {opaque_id: [nightly]}}}"))
		if err != nil {
			t.Fatal(err)
		}
		g, err := guard.New(guard.Config{Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		a.guards.all[route] = &routeGuard{route: route, guard: g, hints: new(guard.HintStore)}
	}
	l, err := live.New(live.Config{
		Store: s, Node: node, CheckOverride: a.checkOverride,
		Apply: func(_ context.Context, _ live.Version, overrides []live.Override) error {
			a.overrideGuards(overrides)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a, l
}

// inForceOn says what holds for a route's guard.
func inForceOn(a *App, route string) string {
	var out []string
	for _, o := range a.guards.all[route].guard.Overrides() {
		out = append(out, fmt.Sprintf("%s%s %v %v %v %v %s", o.Class, o.Caller, o.Dial, o.ReportOnly, o.Limit, o.Action, o.Index))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// What operators change of limits for a while, holds on every node and for what
// it names, and ends by itself.
func TestOverridesOfGuardsEndByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores, err := store.Open(t.Context(), config.MemoryStore, store.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer stores.Close()
		one, first := overridden(t, stores.Live, "one")
		two, second := overridden(t, stores.Live, "two")
		if _, err := first.Put(t.Context(), []byte("# settings"), "ann", ""); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for _, l := range []*live.Live{first, second} {
			go func() { _ = l.Run(ctx) }() // it fails only if it cannot begin, which shows below
		}
		synctest.Wait()
		set := func(o live.Override, ttl time.Duration) live.Override {
			o.By, o.Until = "ann", time.Now().Add(ttl)
			o, err := first.Override(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		set(live.Override{What: live.Guard, Class: "batch", Factor: 0.5}, time.Minute)
		set(live.Override{What: live.Guard, Caller: "dash-*", Factor: 0.25}, 2*time.Minute)
		set(live.Override{What: live.GuardLimit, Route: "/a/*", Predictor: "agg_product", Index: "logs-*", Value: "5000 report"}, 3*time.Minute)
		set(live.Override{What: live.GuardLimit, Route: "/a/*", Predictor: "in_list", Value: "off"}, 3*time.Minute)
		last := set(live.Override{What: live.GuardReport, Route: "/b/*", Class: "batch"}, time.Hour)
		want := func(after time.Duration, a, b []string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			for name, node := range map[string]*App{"one": one, "two": two} {
				for route, want := range map[string][]string{"/a/*": a, "/b/*": b} {
					slices.Sort(want)
					if got := inForceOn(node, route); got != strings.Join(want, "\n") {
						t.Errorf("node %s, %s:\n%s\nwant\n%s", name, route, got, want)
					}
				}
			}
		}
		batch, dash, report := "batch 0.5 false 0  ", "dash-* 0.25 false 0  ", "batch 0 true 0  "
		logs, list := " 0 false 5000 report logs-*", " 0 false +Inf off "
		want(time.Second, []string{batch, dash, logs, list}, []string{batch, dash, report})
		want(time.Minute, []string{dash, logs, list}, []string{dash, report})
		want(time.Minute, []string{logs, list}, []string{report})
		want(time.Minute, nil, []string{report})
		if err := second.Lift(ctx, last.ID); err != nil {
			t.Fatal(err)
		}
		want(time.Second, nil, nil)
		stop()
		synctest.Wait()
	})
}

func TestOverridesOfGuardsThatCannotBe(t *testing.T) {
	stores, err := store.Open(t.Context(), config.MemoryStore, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer stores.Close()
	a, _ := overridden(t, stores.Live, "one")
	for want, o := range map[string]live.Override{
		"unknown predictor":          {What: live.GuardLimit, Predictor: "agg_produkt", Value: "5"},
		"is not a limit":             {What: live.GuardLimit, Predictor: "agg_product", Value: "many"},
		"a limit is for a class":     {What: live.GuardLimit, Predictor: "agg_product", Value: "5", Caller: "x"},
		"query guards have classes":  {What: live.Guard, Factor: 0.5, Plan: "free"},
		`no limits have a class "x"`: {What: live.GuardReport, Class: "x"},
		`"/c/*" has no guard`:        {What: live.Guard, Factor: 0.5, Route: "/c/*"},
		`no route "/d/*"`:            {What: live.Guard, Factor: 0.5, Route: "/d/*"},
	} {
		o.ID, o.Until = "ov-1", time.Now().Add(time.Hour)
		if err := a.checkOverride(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}
