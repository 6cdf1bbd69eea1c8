package metrics

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newRequests(t testing.TB, cfg Config, set Settings) *Requests {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if set.Shown == nil {
		set.Shown = shown("clear", func(caller string) string { return caller }, append(set.Routes, Route{})...)
	}
	if err := s.Update(set); err != nil {
		t.Fatal(err)
	}
	return s
}

// shown shows callers of routes in one way.
func shown(how string, as func(string) string, routes ...Route) map[string]Shown {
	all := map[string]Shown{}
	for _, r := range routes {
		all[r.Name] = Shown{how, as}
	}
	return all
}

// text is what Prometheus reads.
func text(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		counts := f.GetType() == dto.MetricType_COUNTER
		if f.GetHelp() == "" || counts != strings.HasSuffix(f.GetName(), "_total") {
			t.Errorf("%s has the help %q and the type %v", f.GetName(), f.GetHelp(), f.GetType())
		}
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func has(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w+"\n") {
			t.Errorf("there is no %s in\n%s", w, text)
		}
	}
}

func TestRequestsAreCountedByRouteClassAndRule(t *testing.T) {
	s := newRequests(t, Config{Shards: 4}, Settings{Routes: []Route{{"/search/*", "search"}, {"/jobs", ""}}})
	for _, r := range []accesslog.Record{
		{Route: "/search/*", Status: 200, Attempts: 2, Duration: 30 * time.Millisecond, TTFB: 20 * time.Millisecond, Waited: 3 * time.Millisecond, BytesIn: 4, BytesOut: 100, Lane: true, Cost: 9},
		{Route: "/search/*", Status: 200, Attempts: 1, Duration: time.Minute},
		{Route: "/search/*", Status: 429, Rule: "rate:per key"},
		{Route: "/search/*", Status: 503, Rule: "concurrency", Fallback: "stale"},
		{Route: "/search/*", Status: 503, Rule: "a rule of tomorrow"},
		{Route: "/search/*", Attempts: 1, Cut: true},
		{Route: "/jobs", Status: 202},
		{Route: "no more", Status: 404},
		{Status: 404},
	} {
		s.Observe(&r)
	}
	got := text(t, s.Collector())
	has(
		t, got,
		`bezoar_requests_total{class="2xx",fleet="search",route="/search/*",rule="none"} 2`,
		`bezoar_requests_total{class="4xx",fleet="search",route="/search/*",rule="rate"} 1`,
		`bezoar_requests_total{class="5xx",fleet="search",route="/search/*",rule="concurrency"} 1`,
		`bezoar_requests_total{class="5xx",fleet="search",route="/search/*",rule="other"} 1`,
		`bezoar_requests_total{class="none",fleet="search",route="/search/*",rule="none"} 1`,
		`bezoar_requests_total{class="3xx",fleet="search",route="/search/*",rule="none"} 0`,
		`bezoar_requests_total{class="2xx",fleet="",route="/jobs",rule="none"} 1`,
		`bezoar_requests_total{class="4xx",fleet="",route="",rule="none"} 2`,
		`bezoar_request_fallbacks_total{fleet="search",kind="stale",route="/search/*"} 1`,
		`bezoar_request_bytes_total{direction="out",fleet="search",route="/search/*"} 100`,
		`bezoar_request_attempts_total{fleet="search",route="/search/*"} 4`,
		`bezoar_request_lane_total{fleet="search",route="/search/*"} 1`,
		`bezoar_request_cut_total{fleet="search",route="/search/*"} 1`,
		`bezoar_request_cost_units_total{fleet="search",route="/search/*"} 9`,
		`bezoar_request_duration_seconds_bucket{fleet="search",route="/search/*",le="0.025"} 1`,
		`bezoar_request_duration_seconds_bucket{fleet="search",route="/search/*",le="0.05"} 2`,
		`bezoar_request_duration_seconds_bucket{fleet="search",route="/search/*",le="30"} 2`,
		`bezoar_request_duration_seconds_count{fleet="search",route="/search/*"} 3`,
		`bezoar_request_duration_seconds_sum{fleet="search",route="/search/*"} 60.03`,
		`bezoar_request_first_byte_seconds_count{fleet="search",route="/search/*"} 1`,
		`bezoar_request_wait_seconds_bucket{fleet="search",route="/search/*",le="0.005"} 1`,
		`bezoar_top_callers_evicted_total 0`,
	)
}

// Whatever callers send, the labels are those of the settings.
func TestLabelsAreBounded(t *testing.T) {
	s := newRequests(t, Config{}, Settings{Routes: []Route{{"a", "f"}, {"b", "f"}}})
	r := rand.New(rand.NewPCG(1, 2))
	before := -1
	for range 3 {
		for range 2000 {
			s.Observe(&accesslog.Record{
				Route: []string{"a", "b", "", fmt.Sprint(r.Uint64())}[r.IntN(4)], Status: r.IntN(1000), Rule: []string{"", "rate:" + fmt.Sprint(r.Uint64()), fmt.Sprint(r.Uint64())}[r.IntN(3)],
				Caller: fmt.Sprint(r.Uint64()), Fallback: []string{"", fmt.Sprint(r.Uint64())}[r.IntN(2)], Path: fmt.Sprint(r.Uint64()), Method: fmt.Sprint(r.Uint64()),
			})
		}
		n := strings.Count(text(t, s.Collector()), "\n")
		if before >= 0 && n != before {
			t.Fatalf("from %d lines there are %d", before, n)
		}
		before = n
	}
}

func TestRoutesKeepTheirCountsWhenOthersGo(t *testing.T) {
	a, b, c := Route{"a", "f"}, Route{"b", "f"}, Route{"c", "g"}
	s := newRequests(t, Config{}, Settings{Routes: []Route{a, b}})
	count := func(route string) { s.Observe(&accesslog.Record{Route: route, Status: 200}) }
	update := func(routes ...Route) {
		t.Helper()
		if err := s.Update(Settings{Routes: routes}); err != nil {
			t.Fatal(err)
		}
	}
	count("a")
	count("b")
	update(b, c) // c gets a's place, and nothing of what was counted there
	count("b")
	count("c")
	count("a")
	has(
		t, text(t, s.Collector()),
		`bezoar_requests_total{class="2xx",fleet="f",route="b",rule="none"} 2`,
		`bezoar_requests_total{class="2xx",fleet="g",route="c",rule="none"} 1`,
		`bezoar_requests_total{class="2xx",fleet="",route="",rule="none"} 1`,
	)
	if strings.Contains(text(t, s.Collector()), `route="a"`) {
		t.Error("a route that is gone still has a series")
	}
	update(b)
	update(Route{"b", "another fleet"})
	if got := text(t, s.Collector()); !strings.Contains(got, `fleet="another fleet",route="b",rule="none"} 0`) || strings.Contains(got, `fleet="f"`) {
		t.Errorf("a route that goes elsewhere counts on:\n%s", got)
	}
	for i := range 100 {
		update(Route{fmt.Sprint(i), "f"})
	}
	if len(s.routes) > 4 {
		t.Errorf("after 100 changes there are %d places", len(s.routes))
	}
}

func TestTopCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRequests(t, Config{}, Settings{})
		for i := range 1000 {
			s.Observe(&accesslog.Record{Caller: fmt.Sprintf("small-%d", i%10), Status: 200, Attempts: 1, Duration: 10 * time.Millisecond})
		}
		s.Observe(&accesslog.Record{Caller: "slow", Status: 500, Attempts: 2, Duration: time.Minute, Waited: 10 * time.Second, Cost: 3})
		for range 50 {
			s.Observe(&accesslog.Record{Caller: "greedy", Status: 429, Rule: "rate:x", BytesIn: 1000})
		}
		s.Observe(&accesslog.Record{Status: 200, Attempts: 1, Duration: time.Second}) // not told apart
		for _, tc := range []struct {
			by, first    string
			value, total uint64
		}{
			{adminapi.ByCost, "slow", uint64(50 * time.Second), uint64(61 * time.Second)},
			{adminapi.ByRequests, "small-", 100, 1052},
			{adminapi.ByRefused, "greedy", 50, 50},
			{adminapi.ByErrors, "slow", 1, 1},
			{adminapi.ByBytes, "greedy", 50_000, 50_000},
			{adminapi.ByUnits, "slow", 3, 3},
		} {
			got := s.Top(adminapi.TopQuery{By: tc.by, Limit: 3})
			c := got.Callers[0]
			if !strings.HasPrefix(c.Caller, tc.first) || c.Value != tc.value || c.Error != 0 || got.Total != tc.total || len(got.Callers) > 3 || got.By != tc.by {
				t.Errorf("by %s: %+v", tc.by, got)
			}
		}
		if got := s.Top(adminapi.TopQuery{}); got.Callers[0].Also[adminapi.ByErrors] != 1 || got.Names != "clear" || got.Window != adminapi.LastMinute {
			t.Errorf("%+v", got)
		}
		time.Sleep(2 * time.Minute)
		if got := s.Top(adminapi.TopQuery{Window: adminapi.LastMinute}); len(got.Callers) != 0 || got.Total != 0 {
			t.Errorf("two minutes later %+v", got)
		}
		if got := s.Top(adminapi.TopQuery{Window: adminapi.LastTenMinutes}); got.Callers[0].Caller != "slow" {
			t.Errorf("of the last ten minutes %+v", got)
		}
	})
}

// What waits in a shard is counted when it came, not when somebody asks.
func TestCallersAreCountedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRequests(t, Config{}, Settings{})
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = s.Run(ctx) }) // it never fails
		defer wg.Wait()
		defer stop()
		s.Observe(&accesslog.Record{Caller: "early", Status: 200})
		time.Sleep(90 * time.Second)
		if got := s.Top(adminapi.TopQuery{By: adminapi.ByRequests}); len(got.Callers) != 0 {
			t.Errorf("90 s later %+v", got.Callers)
		}
	})
}

func TestCallersAreCalledAsTheSettingsSay(t *testing.T) {
	s := newRequests(t, Config{}, Settings{})
	see := func(set Settings) adminapi.Top {
		t.Helper()
		if set.Shown != nil {
			if err := s.Update(set); err != nil {
				t.Fatal(err)
			}
		}
		s.Observe(&accesslog.Record{Caller: "sk-123456", Status: 200})
		return s.Top(adminapi.TopQuery{By: adminapi.ByRequests})
	}
	if got := see(Settings{}); got.Callers[0].Caller != "sk-123456" {
		t.Errorf("%+v", got)
	}
	hash := func(id string) string { return fmt.Sprintf("hash of %d bytes", len(id)) }
	if got := see(Settings{Shown: shown("hash", hash, Route{})}); len(got.Callers) != 1 || got.Callers[0].Caller != "hash of 9 bytes" || got.Names != "hash" {
		t.Errorf("%+v", got)
	}
	if got := see(Settings{Shown: shown("hash", hash, Route{}), Labels: "others"}); len(got.Callers) != 1 || got.Callers[0].Value != 1 {
		t.Errorf("with other labels who was counted is still there: %+v", got)
	}
	if got := see(Settings{Routes: []Route{{"a", "f"}}, Shown: map[string]Shown{}}); len(got.Callers) != 0 || got.Total != 1 || got.Names != NamesOff {
		t.Errorf("%+v", got)
	}
	// One caller on two routes that show it in two ways is two rows, and no row says more than its route.
	two := shown("hash", hash, Route{Name: "a"})
	two["b"] = Shown{"clear", func(caller string) string { return caller }}
	if err := s.Update(Settings{Shown: two}); err != nil {
		t.Fatal(err)
	}
	s.Observe(&accesslog.Record{Route: "a", Caller: "sk-1", Status: 200})
	s.Observe(&accesslog.Record{Route: "b", Caller: "sk-1", Status: 200})
	if got := s.Top(adminapi.TopQuery{By: adminapi.ByRequests}); len(got.Callers) != 2 || got.Names != NamesMixed {
		t.Errorf("%+v", got)
	}
	for _, set := range []Settings{{Shown: shown("hash", nil, Route{})}, {Shown: shown("", hash, Route{})}} {
		if err := s.Update(set); err == nil {
			t.Errorf("%+v is taken", set)
		}
	}
}

// A flood of new callers, from many at once, neither hides who has most nor
// loses a count.
func TestNothingIsLostInAFlood(t *testing.T) {
	s := newRequests(t, Config{Shards: 2, Counters: 32}, Settings{Routes: []Route{{"a", "f"}}})
	const goroutines, each = 4, 5000
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				caller := fmt.Sprintf("%d-%d", g, i)
				if i%10 == 0 {
					caller = "heavy"
				}
				s.Observe(&accesslog.Record{Route: "a", Caller: caller, Status: 200})
			}
		})
	}
	wg.Wait()
	got := s.Top(adminapi.TopQuery{By: adminapi.ByRequests})
	if c := got.Callers[0]; got.Total != goroutines*each || c.Caller != "heavy" || c.Value < goroutines*each/10 || c.Value-c.Error > goroutines*each/10 {
		t.Errorf("%+v", got)
	}
	has(t, text(t, s.Collector()), fmt.Sprintf(`bezoar_requests_total{class="2xx",fleet="f",route="a",rule="none"} %d`, goroutines*each))
}

func TestObserveAllocatesNothing(t *testing.T) {
	s := newRequests(t, Config{}, Settings{Routes: []Route{{"a", "f"}}})
	r := accesslog.Record{Route: "a", Caller: "alice", Status: 200, Attempts: 1, Duration: time.Millisecond, Worker: "w", TTFB: time.Microsecond}
	if n := testing.AllocsPerRun(1000, func() { s.Observe(&r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestConfigsNameEveryFault(t *testing.T) {
	_, err := New(Config{Counters: -1, Shards: 3})
	if want := "metrics: Counters is -1, want 1 to 16384\nShards is 3, want a power of two up to 16"; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func BenchmarkObserve(b *testing.B) {
	routes := make([]Route, 50)
	for i := range routes {
		routes[i] = Route{fmt.Sprintf("/api/v1/things/%d/*", i), "f"}
	}
	callers := make([]string, 1<<16)
	for i := range callers {
		callers[i] = fmt.Sprintf("10.1.%d.%d", i>>8, i&255)
	}
	for name, n := range map[string]int{"callers=100": 100, "callers=65536": 1 << 16} {
		run := func(b *testing.B, s *Requests) func() {
			i := rand.Int()
			r := accesslog.Record{Status: 200, Attempts: 1, Duration: 12 * time.Millisecond, TTFB: 11 * time.Millisecond, Waited: time.Millisecond, BytesIn: 100, BytesOut: 1000}
			return func() {
				i++
				r.Route, r.Caller = routes[i%len(routes)].Name, callers[i%n]
				s.Observe(&r)
			}
		}
		b.Run(name, func(b *testing.B) {
			s := newRequests(b, Config{}, Settings{Routes: routes})
			do := run(b, s)
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			s := newRequests(b, Config{}, Settings{Routes: routes})
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				do := run(b, s)
				for pb.Next() {
					do()
				}
			})
		})
	}
}
