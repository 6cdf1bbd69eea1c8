package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// sampleFleet is one in panic, with a pool and shards.
func sampleFleet() adminapi.Fleet {
	return adminapi.Fleet{
		Name: "search", State: "panic", Lane: adminapi.Lane{Open: true}, Ejections: 4,
		Panic: &adminapi.Panic{Since: noon().Add(-90 * time.Second), Healthy: 1, Up: 3},
		Pool: &adminapi.Pool{Limit: 40, Adaptive: true, InFlight: 40, Queued: 12, Classes: []adminapi.Class{
			{Priority: "critical", Admitted: 900, Waited: 80, Shed: 3, Rules: map[string]uint64{"deadline": 3}},
			{Priority: "sheddable", Admitted: 20, Shed: 400, Rules: map[string]uint64{"concurrency": 380, "per_caller": 20}},
		}},
		Shard: &adminapi.Shard{Size: 2, Overflow: "down", Overflowed: 7, Whole: 1.0 / 3},
		Workers: []adminapi.Worker{
			{Name: "search-1", State: "ready", Epoch: 3, Share: 1, Results: 40, Latency: adminapi.Duration(12345 * time.Microsecond)},
			{Name: "search-2", State: "ready", Epoch: 4, Share: 0.25, Held: &adminapi.Held{Unhealthy: "GET /healthz: 500 \x1b[31mno"}},
			{
				Name: "search-3", State: "draining", Epoch: 5, Share: 1, Results: 9, Failed: 8,
				Held: &adminapi.Held{Out: true, Ejected: noon().Add(30 * time.Second), Ejections: 2},
			},
		},
	}
}

// sampleSettings is a node whose newest version is invalid, beside one that
// lags.
func sampleSettings() live.Status {
	bad := "version 8 is invalid: version 8:3:5: fleets.app.replcas: is not a known key\nversion 8:9:1: routes: is \x1b[31mempty"
	return live.Status{
		Node: "web-1", Running: live.Version{Number: 7, Sum: "a", By: "ann@desk", Source: live.FromAPI, Note: "tighter\x1b]0;x\x07"},
		Wanted: live.Version{Number: 8, Sum: "b", By: "web-1", Source: live.FromFile, Note: "/etc/bezoar.yaml"},
		Since:  noon().Add(-time.Hour), Error: bad,
		Overrides: []live.Override{{ID: "ov-1"}},
		File:      live.FileStatus{Path: "/etc/bezoar.yaml", Version: 8},
		Store:     live.StoreStatus{Error: "dial tcp: refused", Since: noon().Add(-time.Minute)},
		Nodes: []live.Node{
			{Name: "web-1", Running: 7, Wanted: 8, Error: bad, Overrides: 1, Since: noon().Add(-time.Hour), Seen: noon().Add(-time.Second)},
			{Name: "web-2", Running: 6, Wanted: 6, Since: noon().Add(-2 * time.Hour), Seen: noon().Add(-9 * time.Second)},
		},
	}
}

func TestNodesThatAreNotSettledAreUnhealthy(t *testing.T) {
	good := live.Status{Node: "a", Nodes: []live.Node{{Name: "a", Running: 3, Wanted: 3}}}
	if err := settled(good); err != nil {
		t.Errorf("a good one: %v", err)
	}
	for want, spoil := range map[string]func(*live.Status){
		"node a: bad":                             func(s *live.Status) { s.Error = "bad" },
		"node a: the file: gone":                  func(s *live.Status) { s.File.Error = "gone" },
		"node a: the store: away":                 func(s *live.Status) { s.Store.Error = "away" },
		"node b runs version 2 instead of 3: why": func(s *live.Status) { s.Nodes = []live.Node{{Name: "b", Running: 2, Wanted: 3, Error: "why"}} },
	} {
		s := good
		spoil(&s)
		if err := settled(s); err == nil || err.Error() != want || codeOf(err) != exitUnhealthy {
			t.Errorf("%v, exit code %d, want %q", err, codeOf(err), want)
		}
	}
}

func TestBreakersAreFoundByWhatNamesThem(t *testing.T) {
	list := []circuit.Status{{Name: "search /search/*"}, {Name: "search /suggest"}, {Name: "mail /mail/*"}}
	for given, want := range map[string]string{
		"search /suggest": "search /suggest", "/suggest": "search /suggest", "mail": "mail /mail/*",
		"search": "", "sea": "", "": "",
	} {
		got, err := breakerName(list, given)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", given, got, err, want)
		}
	}
	if _, err := breakerName(list, "search"); codeOf(err) != exitUsage || !strings.Contains(hintFor(err), "'search /search/*', 'search /suggest'") {
		t.Errorf("two breakers: exit code %d, hint %q", codeOf(err), hintFor(err))
	}
	if _, err := breakerName(list, "none"); codeOf(err) != exitNotFound {
		t.Errorf("no breaker: exit code %d", codeOf(err))
	}
}

func TestBreakersSayWhatTheyRestOn(t *testing.T) {
	for want, b := range map[string]circuit.Status{
		"":                                     {Told: true},
		"by ann; other nodes are not told yet": {Forced: &breaker.Forced{By: "ann"}},
		"9 of 10 calls failed; 3 trips in a row; node web-2 tries it": {Reason: "9 of 10 calls failed", Level: 3, Node: "web-2", Told: true},
	} {
		if got := circuitWhy(b); got != want {
			t.Errorf("says %q, want %q", got, want)
		}
	}
}
