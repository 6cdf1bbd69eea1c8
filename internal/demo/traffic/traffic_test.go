package traffic

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/demo/sample"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newCrowd(t *testing.T, cfg Config, h http.HandlerFunc) *Crowd {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(cfg, srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every good request is answered right by a real worker.
func TestGoodTrafficIsGood(t *testing.T) {
	w := sample.New(sample.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	addr := make(chan string, 1)
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, func(a string) { addr <- a }) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("worker: %v", err)
		}
	}()
	c, err := New(Config{Rate: 1}, "http://"+<-addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.client.CloseIdleConnections()
	m := newMix(1)
	routes := map[string]int{}
	for range 150 {
		r := m.next()
		if how := c.call(ctx, r, false); how != answered {
			t.Errorf("%s %s %s ended %v", r.method, r.target, r.body, how)
		}
		path, _, _ := strings.Cut(r.target[1:], "?")
		path, _, _ = strings.Cut(path, "/")
		routes[path]++
	}
	for _, route := range []string{"search", "report", "item", "export", "orders"} {
		if routes[route] == 0 {
			t.Errorf("nothing was sent to /%s: %v", route, routes)
		}
	}
}

func TestRunCountsWhatCallersSee(t *testing.T) {
	var n atomic.Int64
	var sender atomic.Pointer[Crowd]
	c := newCrowd(t, Config{Rate: 200, Pill: Burst, Lead: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.RawQuery, "%00"):
			w.WriteHeader(http.StatusServiceUnavailable)
		case n.Add(1)%10 == 0:
			w.WriteHeader(http.StatusBadGateway)
		case n.Load()%10 == 1:
			panic(http.ErrAbortHandler)
		default:
			// Once good callers have their answers, Run waits for nobody: the last
			// of them wait until the burst is refused, however busy the machine.
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for n.Load() > 60 && sender.Load().Tally().Counts().PillsRefused < 64 && r.Context().Err() == nil {
				<-tick.C
			}
			// Whatever was asked for is in the answer.
			body, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, right(r, string(body)))
		}
	})
	sender.Store(c)
	began := time.Now()
	if err := c.Run(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	got := c.Tally().Counts()
	// A busy machine sends late, and ends late.
	if took := time.Since(began); got.GoodSent < 80 || float64(got.GoodSent) > 200*took.Seconds()+2 {
		t.Errorf("%d good requests at 200 per second, in a run of one that took %v", got.GoodSent, took)
	}
	if got.PillsSent != 64 || got.PillsRefused != 64 {
		t.Errorf("%d pills sent and %d refused, want one burst of 64", got.PillsSent, got.PillsRefused)
	}
	if got.GoodRefused < 5 || got.GoodLost < 5 || got.Waiting() != 0 || got.GoodOK < 60 {
		t.Errorf("counts %+v", got)
	}
	if got.P50 <= 0 || got.P99 < got.P50 {
		t.Errorf("p50 %v, p99 %v", got.P50, got.P99)
	}
	if c.Tally().FirstPill().IsZero() || c.Tally().LastHarm().IsZero() {
		t.Error("neither the first pill nor the harm has a time")
	}
}

// right returns a body that contains what any good request wants.
func right(r *http.Request, body string) string {
	q := r.URL.Query()
	id := strings.TrimPrefix(r.URL.Path, "/item/")
	sku, _, _ := strings.Cut(strings.TrimPrefix(body, `{"sku":"`), `"`)
	return `"q":"` + q.Get("q") + `" "filter":"` + q.Get("filter") + `" "report":"sales" "rows":` + q.Get("rows") +
		` "id":"` + id + `" "sku":"` + sku + `"`
}

// A caller who waits in vain is given up in the end, and Run with it.
func TestRunEndsWhileCallersWait(t *testing.T) {
	release := make(chan struct{})
	c := newCrowd(t, Config{Rate: 100, Pill: Crash}, func(http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(func() { close(release) })
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
	if err := c.Run(ctx, time.Hour); !errors.Is(err, stop) {
		t.Errorf("Run = %v, want the cause", err)
	}
	if got := c.Tally().Counts(); got.GoodOK != 0 || got.GoodLost != got.GoodSent || got.GoodSent == 0 {
		t.Errorf("counts %+v", got)
	}
}

func TestUniquePillsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for n := range 10_000 {
		seen[Unique.request(n).target] = true
	}
	if len(seen) != 10_000 {
		t.Errorf("10,000 unique pills have %d payloads", len(seen))
	}
	for _, p := range []Pill{Crash, Hang, OOM, Burst} {
		if p.request(0) != p.request(1) {
			t.Errorf("%s pills differ", p)
		}
	}
	for _, p := range Pills() {
		if got, err := ParsePill(string(p)); err != nil || got != p {
			t.Errorf("ParsePill(%q) = %q, %v", p, got, err)
		}
	}
}

func TestValidate(t *testing.T) {
	err := Config{Rate: 0, Pill: "poison", Lead: -1}.Validate()
	for _, want := range []string{"rate is 0", `"poison" is unknown, want one of crash, hang`, "lead"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// A quantile is never below the exact one and at most a bucket above it.
func TestQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		us := rapid.SliceOfN(rapid.Int64Range(2, 60_000_000), 1, 200).Draw(t, "us")
		var h histogram
		for _, u := range us {
			h.add(time.Duration(u) * time.Microsecond)
		}
		var low, high time.Duration = 1 << 62, 0
		for _, u := range us {
			low, high = min(low, time.Duration(u)*time.Microsecond), max(high, time.Duration(u)*time.Microsecond)
		}
		for _, q := range []float64{0.001, 1} {
			want := low
			if q == 1 {
				want = high
			}
			if got := h.quantile(q); got < want || float64(got) > 1.09*float64(want)+1000 {
				t.Fatalf("quantile(%v) = %v, exact %v", q, got, want)
			}
		}
	})
	if (&histogram{}).quantile(0.5) != 0 {
		t.Error("an empty histogram has a quantile")
	}
}
