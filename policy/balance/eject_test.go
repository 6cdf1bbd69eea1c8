package balance_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/balance"
	"github.com/bezoar-dev/bezoar/policy/shard"
)

var start = time.Unix(1_000_000, 0)

// herd is a fleet in virtual time.
type herd struct {
	e       balance.Eject
	now     time.Time
	rng     *rand.Rand
	records []balance.Record
	names   []uint64
}

func newHerd(n int, e balance.Eject) *herd {
	h := &herd{e: e.WithDefaults(), now: start, rng: rand.New(rand.NewPCG(uint64(n), 3)), records: make([]balance.Record, n)}
	for i := range n {
		h.names = append(h.names, shard.Name(string(rune('a'+i))))
	}
	return h
}

// add tells worker i one outcome and reports whether it is an outlier now.
func (h *herd) add(i int, o balance.Outcome) (string, bool) {
	h.now = h.now.Add(time.Millisecond)
	if !h.records[i].Add(h.now, &h.e, o) {
		return "", false
	}
	return h.judge(i)
}

func (h *herd) judge(i int) (string, bool) {
	var others []balance.Sample
	for j := range h.records {
		if j != i {
			others = append(others, h.records[j].Sample(h.now, h.e.Window))
		}
	}
	return h.e.Judge(h.now, &h.records[i], others)
}

func (h *herd) outcome(p float64, caller uint64) balance.Outcome {
	o := balance.Outcome{Status: 200, Latency: time.Millisecond, Caller: caller}
	if h.rng.Float64() < p {
		o.Status = 500
	}
	return o
}

// Work that fails everywhere, however much of it, ejects nobody.
func TestFailingWorkEjectsNobody(t *testing.T) {
	for _, n := range []int{3, 8, 20} {
		for _, p := range []float64{0.001, 0.01, 0.1, 0.3, 0.5, 0.8, 0.95, 1} {
			for _, callers := range []uint64{0, 1, 1000} {
				h := newHerd(n, balance.Eject{})
				for k := range 30_000 {
					var caller uint64
					if callers > 0 {
						caller = 1 + h.rng.Uint64N(callers)
					}
					if why, out := h.add(h.rng.IntN(n), h.outcome(p, caller)); out {
						t.Fatalf("%d workers, %v fail, %d callers: at the %dth one was ejected: %s", n, p, callers, k, why)
					}
				}
			}
		}
	}
}

// A failing class of work that begins all at once ejects nobody either.
func TestSuddenOutageEjectsNobody(t *testing.T) {
	h := newHerd(8, balance.Eject{})
	for k := range 20_000 {
		p := 0.0
		if k%6000 > 3000 {
			p = 0.9
		}
		if why, out := h.add(h.rng.IntN(8), h.outcome(p, 1+h.rng.Uint64N(500))); out {
			t.Fatalf("at the %dth one was ejected: %s", k, why)
		}
	}
}

// In a fleet of shards the poison of one or two callers falls on the same few
// workers, and they are not to blame.
func TestPoisonOfAShardEjectsNobody(t *testing.T) {
	for _, n := range []int{8, 16} {
		for seed := range uint64(20) {
			h := newHerd(n, balance.Eject{})
			h.rng = rand.New(rand.NewPCG(seed, 9))
			poison := []uint64{h.rng.Uint64() | 1, h.rng.Uint64() | 1}
			var members []int
			for k := range 20_000 {
				caller, p := 1+h.rng.Uint64N(500), 0.002
				if k%3 == 0 { // a third of all work
					caller, p = poison[h.rng.IntN(2)], 1
				}
				members = shard.Assign(caller, h.names, 2, members[:0])
				if why, out := h.add(members[h.rng.IntN(2)], h.outcome(p, caller)); out {
					t.Fatalf("%d workers, seed %d: at the %dth one was ejected: %s", n, seed, k, why)
				}
			}
		}
	}
}

// A request that is tried on every worker in turn counts once at most.
func TestRepeatsCountAgainstNobody(t *testing.T) {
	h := newHerd(4, balance.Eject{})
	for range 2000 {
		first := h.rng.IntN(4)
		h.add(first, balance.Outcome{Status: 200})
		for k := 1; k < 4; k++ {
			w := (first + k) % 4
			if w == 0 { // its luck is to be tried second each time
				continue
			}
			if why, out := h.add(0, balance.Outcome{Failed: true, Repeat: true}); out {
				t.Fatal(why)
			}
		}
	}
	if s := h.records[0].Sample(h.now, h.e.Window); s.Failed != 0 {
		t.Errorf("%d repeats were counted", s.Failed)
	}
}

// A worker that is worse than the others is found, soon.
func TestBadWorkerIsFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		n       int
		base    float64 // what the others fail
		bad     float64 // what it fails
		callers uint64
		within  int // of its own results since it is bad
		says    string
	}{
		{"all fail", 3, 0, 1, 0, 8, "in a row"},
		{"all fail, many callers", 8, 0.01, 1, 1000, 40, "in a row"},
		{"all fail, one caller alone", 8, 0, 1, 1, 8, "in a row"},
		{"all fail, others fail too", 8, 0.2, 1, 1000, 60, "in a row"},
		{"half fail", 8, 0.01, 0.5, 1000, 1200, ""},
		{"half fail, one caller alone", 8, 0.01, 0.5, 1, 1200, ""},
		{"most fail, others too", 8, 0.1, 0.8, 0, 1200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHerd(c.n, balance.Eject{})
			mine := 0
			for k := range 200_000 {
				var caller uint64
				if c.callers > 0 {
					caller = 1 + h.rng.Uint64N(c.callers)
				}
				i, p := h.rng.IntN(c.n), c.base
				if i == 0 && k > 5000 {
					p = c.bad
					mine++
				}
				why, out := h.add(i, h.outcome(p, caller))
				if !out {
					continue
				}
				if i != 0 || mine > c.within || !strings.Contains(why, c.says) {
					t.Errorf("worker %d after %d bad results: %s; want worker 0 within %d", i, mine, why, c.within)
				}
				return
			}
			t.Errorf("it was not found in %d results", mine)
		})
	}
}

// A worker that fails every other request has no streak; its ratio gives it away.
func TestRatioFindsWhatHasNoStreak(t *testing.T) {
	h := newHerd(4, balance.Eject{})
	for k := range 40_000 {
		o := balance.Outcome{Status: 200, Caller: 1 + h.rng.Uint64N(100)}
		if k%8 == 0 { // every other one of worker 0
			o.Status = 503
		}
		if why, out := h.add(k%4, o); out {
			if k%4 != 0 || k > 2000 || !strings.Contains(why, "% of") {
				t.Errorf("worker %d at the %dth: %s", k%4, k, why)
			}
			return
		}
	}
	t.Error("it was not found")
}

func TestNobodyToCompareWith(t *testing.T) {
	h := newHerd(3, balance.Eject{})
	for range 100 {
		if why, out := h.add(0, balance.Outcome{Failed: true}); out {
			t.Fatal(why)
		}
	}
}

func TestRulesCanBeOff(t *testing.T) {
	for _, e := range []balance.Eject{{Consecutive: balance.Off, Above: balance.Off}, {Consecutive: balance.Off}, {Above: balance.Off}} {
		h := newHerd(4, e)
		found := ""
		for k := range 4000 {
			p := 0.0
			if k%4 == 0 {
				p = 1
			}
			if why, out := h.add(k%4, h.outcome(p, 0)); out && found == "" {
				found = why
			}
		}
		want := e.Consecutive != balance.Off || e.Above != balance.Off
		if (found != "") != want || e.Consecutive == balance.Off && strings.Contains(found, "in a row") {
			t.Errorf("%+v: %q", e, found)
		}
	}
}

func TestTheWindowForgets(t *testing.T) {
	var r balance.Record
	e := balance.Eject{}.WithDefaults()
	for range 50 {
		r.Add(start, &e, balance.Outcome{Failed: true, Latency: time.Second})
	}
	for _, c := range []struct {
		at   time.Duration
		want int
	}{{4 * time.Second, 50}, {6 * time.Second, 50}, {12 * time.Second, 0}} {
		if s := r.Sample(start.Add(c.at), e.Window); s.N != c.want || s.Failed != c.want {
			t.Errorf("after %v it knows %d results, %d failed, want %d", c.at, s.N, s.Failed, c.want)
		}
	}
	if got := r.Latency(); got != time.Second {
		t.Errorf("latency %v", got)
	}
	r.Add(start.Add(-time.Hour), &e, balance.Outcome{}) // a clock that steps back
	if s := r.Sample(start.Add(-time.Hour), e.Window); s.N != 1 {
		t.Errorf("after a step back it knows %d results, want 1", s.N)
	}
}

func TestEjectionsGrowAndAreForgiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := balance.Eject{For: time.Duration(rapid.IntRange(1, 100).Draw(t, "for")) * time.Second}
		e.MaxFor = e.For * time.Duration(rapid.IntRange(1, 40).Draw(t, "max"))
		e = e.WithDefaults()
		var r balance.Record
		now := start
		last := time.Duration(0)
		for i := range rapid.IntRange(1, 12).Draw(t, "times") {
			for range 10 {
				r.Add(now, &e, balance.Outcome{Failed: true})
			}
			until := r.Eject(now, &e, 0)
			d := until.Sub(now)
			if want := min(e.For<<i, e.MaxFor); d != want || r.Times() != i+1 {
				t.Fatalf("ejection %d lasts %v, want %v, and counts as %d", i+1, d, want, r.Times())
			}
			if d < last {
				t.Fatalf("%v after %v", d, last)
			}
			if s := r.Sample(now, e.Window); s.N != 0 {
				t.Fatalf("its record is not clean: %d", s.N)
			}
			last, now = d, until
		}
		short := r.Eject(now, &e, rapid.Float64Range(0, 0.999).Draw(t, "random")).Sub(now)
		if short > e.MaxFor || short < min(last, e.MaxFor)*4/5 {
			t.Fatalf("jittered %v after %v", short, last)
		}
		now = now.Add(short + e.MaxFor + 1)
		if d := r.Eject(now, &e, 0).Sub(now); d != e.For || r.Times() != 1 {
			t.Fatalf("after a good while it lasts %v, want %v", d, e.For)
		}
	})
}

func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		share    float64
		up, want int
	}{{0.1, 0, 0}, {0.1, 2, 0}, {0.1, 3, 1}, {0.1, 19, 1}, {0.1, 20, 2}, {0.1, 100, 10}, {0.5, 2, 1}, {0.5, 8, 4}, {0.3, 10, 3}} {
		e := balance.Eject{MaxEject: c.share}
		if got := e.Allowed(c.up); got != c.want {
			t.Errorf("Allowed(%d) at %v is %d, want %d", c.up, c.share, got, c.want)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	err := balance.Eject{
		Consecutive: -2, Above: 1.5, MinVolume: -1, Window: time.Millisecond, Excuse: 64, For: -1, MaxFor: -2, MaxEject: 0.9,
	}.Validate()
	if err == nil {
		t.Fatal("nothing was found")
	}
	for _, field := range []string{"consecutive is", "above is", "min volume is", "window is", "excuse is", "for is", "max for is", "max eject is"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("Validate does not name %q: %v", field, err)
		}
	}
	if err := (balance.Eject{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

func BenchmarkAdd(b *testing.B) {
	e := balance.Eject{}.WithDefaults()
	var r balance.Record
	now := start
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Microsecond)
		r.Add(now, &e, balance.Outcome{Status: 200, Latency: time.Millisecond, Caller: 7})
	}
}
