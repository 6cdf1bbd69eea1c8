package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// Laws 3 and 4, with real processes: two workers a pill, and every good request
// answered, however the pill kills and however many copies come at once.
func TestAPillCostsTwoWorkersAndNobodyElseNotices(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		method, target string
		body           string
		copies         int
		setup          setup
		soak           bool
	}{
		{"crash, GET", "GET", "/search?q=crash", "", 1, setup{}, true},
		{"exit 0, GET", "GET", "/search?q=exit", "", 1, setup{}, false},
		{"crash, POST, replay all", "POST", "/orders", `{"item":"crash"}`, 1, setup{Replay: config.ReplayAll}, false},
		{"crash, POST, not replayed", "POST", "/orders", `{"item":"crash"}`, 1, setup{}, false},
		{"crash, 64 copies at once", "GET", "/search?q=crash", "", 64, setup{}, false},
		{"crash, 64 POSTs at once", "POST", "/orders", `{"item":"crash"}`, 64, setup{}, true},
		{"hang", "GET", "/loop?q=hang", "", 1, setup{Health: "/healthz", Timeout: 2 * time.Second}, true},
		{"hang, 64 copies at once", "GET", "/loop?q=hang", "", 64, setup{Health: "/healthz", Timeout: 2 * time.Second}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.copies == 1 && tc.method == "GET" {
				pace.Spare(t, "that of 64 copies at once")
			}
			if tc.soak {
				pace.Soak(t, "that of 64 GETs at once")
			}
			tc.setup.Replicas = 4
			for ; !costsTwo(t, tc.setup, tc.copies, func(r *rig) answer { return r.send(tc.method, tc.target, tc.body) }); tc.setup.Timeout *= 4 {
				t.Logf("%v was not enough for the crowd", tc.setup.Timeout)
			}
		})
	}
}

// costsTwo sends so many copies of a pill at once and some more, and reports
// whether the crowd beside it had time enough on this machine.
func costsTwo(t *testing.T, s setup, copies int, pill func(r *rig) answer) bool {
	r := run(t, s)
	r.hurried = s.Timeout != 0 && s.Timeout < 30*time.Second
	c := r.crowd(8)
	r.until("the crowd is at work", func() bool { return c.sent.Load() > 100 })
	var wg sync.WaitGroup
	told := make([]answer, copies, copies+4)
	for i := range copies {
		wg.Go(func() { told[i] = pill(r) })
	}
	wg.Wait()
	for range 4 {
		told = append(told, pill(r))
	}
	c.end()
	if c.late.Load() > 0 {
		return false
	}
	vs := r.convicts()
	if len(vs) != 1 || vs[0].Sample == "" {
		t.Fatalf("verdicts %+v, want one", vs)
	}
	if d, most := r.deaths(), lawThree(vs[0].Evidence); d != most || len(vs[0].Evidence) != d {
		t.Errorf("%d workers died, want %d; the verdict: %+v; callers were told %v; the fleet: %+v", d, most, vs[0], told, r.fleet())
	}
	checkRefusal(t, told[len(told)-1])
	return true
}

// lawThree is how many workers a pill may cost: two, and one more where the evidence
// shows that the lane's worker was not clean, since others were answered there just
// before.
func lawThree(evidence []bezoar.Evidence) int {
	if len(evidence) == 3 && evidence[1].InFlight == 1 && !evidence[1].Lane && evidence[1].Share < 1 {
		return 3
	}
	return 2
}

// checkRefusal holds a refusal to what a caller needs (law 12).
func checkRefusal(t *testing.T, a answer) {
	t.Helper()
	after, err := strconv.Atoi(a.header.Get("Retry-After"))
	if a.status != http.StatusServiceUnavailable || err != nil || after < 1 || after > 73 { // a first term is a minute and up to 20 % more
		t.Errorf("got %d with Retry-After %q, want 503 and a time", a.status, a.header.Get("Retry-After"))
	}
	var p map[string]any
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("body %q of type %q: %v", a.body, a.header.Get("Content-Type"), err)
		return
	}
	for _, field := range []string{"type", "title", "status", "detail", "id", "scope", "rule", "cause", "until"} {
		if p[field] == nil || p[field] == "" {
			t.Errorf("the problem document has no %s: %s", field, a.body)
		}
	}
}

// An innocent, busy and slow URL in flight at every death is never refused.
func TestASlowBusyURLAtEveryDeathIsNeverRefused(t *testing.T) {
	t.Parallel()
	r := run(t, setup{Replicas: 4})
	c := r.crowd(16)
	r.until("the crowd is at work", func() bool { return c.sent.Load() > 100 })
	for i := range 4 {
		r.get("/search?q=crash" + strconv.Itoa(i))
	}
	c.end()
	most := 2 * 4
	for _, v := range r.convicts() {
		if !strings.Contains(v.Sample, "crash") {
			t.Errorf("convicted %s", v.Sample)
		}
		most += lawThree(v.Evidence) - 2
	}
	if d := r.deaths(); d > most {
		t.Errorf("4 pills cost %d workers, want at most %d; verdicts: %+v", d, most, r.convicts())
	}
}

// Laws 2 and 6: what operators do blames nobody.
func TestWhatIsNotTheWorkConvictsNobody(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(r *rig)
	}{
		{"every worker is killed at once", func(r *rig) {
			for _, pid := range r.pids() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}},
		{"an operator ends workers with SIGTERM", func(r *rig) {
			for _, pid := range r.pids() {
				_ = syscall.Kill(pid, syscall.SIGTERM)
				r.until("it is replaced", func() bool { return r.serving() == 4 })
			}
		}},
		{"a rolling restart", func(r *rig) {
			before := r.pids()
			if _, err := r.admin.Restart(r.t.Context(), "app"); err != nil {
				r.t.Error(err)
			}
			r.until("every worker is new", func() bool {
				now := r.pids()
				for _, p := range now {
					if slices.Contains(before, p) {
						return false
					}
				}
				return len(now) == 4 && r.serving() == 4
			})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, setup{Replicas: 4})
			c := r.crowd(8)
			r.until("the crowd is at work", func() bool { return c.sent.Load() > 100 })
			tc.do(r)
			r.until("every worker serves again", func() bool { return r.serving() == 4 })
			n := c.sent.Load()
			r.until("the crowd goes on", func() bool { return c.sent.Load() > n+100 })
			c.end()
			if vs := r.convicts(); len(vs) > 0 {
				t.Errorf("convicted %+v", vs)
			}
		})
	}
}

func TestAnOverdueRequestOnALivingWorkerIsStruck(t *testing.T) {
	t.Parallel()
	r := run(t, setup{Replicas: 2, Health: "/healthz", Timeout: time.Second})
	for i := range 3 {
		a := r.get("/x?q=dawdle")
		if i < 2 && a.status != http.StatusGatewayTimeout {
			t.Errorf("copy %d: %d %s, want 504", i, a.status, a.body)
		}
	}
	checkRefusal(t, r.get("/x?q=dawdle"))
	if r.deaths() != 0 {
		t.Errorf("%d workers died", r.deaths())
	}
}

// Verdicts and dead letters are there after a kill -9.
func TestVerdictsAndLettersSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := setup{Replicas: 2, Store: "sqlite:" + filepath.Join(dir, "bezoar.db"), StateDir: dir}
	p := start(t, s)
	p.get("/search?q=crash")
	checkRefusal(t, p.get("/search?q=crash"))
	before := p.convicts()
	p.kill()

	p = start(t, s)
	after := p.convicts()
	if len(before) != 1 || len(after) != 1 || after[0].ID != before[0].ID || len(after[0].Evidence) != 2 {
		t.Errorf("before the kill %+v, after it %+v", before, after)
	}
	checkRefusal(t, p.get("/search?q=crash"))
	if p.deaths() != 0 {
		t.Errorf("%d workers died of what was known", p.deaths())
	}
	letters, err := p.admin.Letters(t.Context(), adminapi.LetterQuery{})
	if err != nil || len(letters) != 1 {
		t.Fatalf("letters %+v, %v", letters, err)
	}
	l, err := p.admin.Letter(t.Context(), letters[0].ID)
	if err != nil || l.Request.Target != "/search?q=crash" || len(l.Evidence) != 2 || l.Class != bezoar.Crash {
		t.Errorf("letter %+v, %v", l, err)
	}
}

func TestOperatorsQuarantineReleaseAndRedrive(t *testing.T) {
	t.Parallel()
	r := run(t, setup{Replicas: 3})
	ctx := t.Context()
	v, err := r.admin.Add(ctx, adminapi.Add{
		Request: &adminapi.AddRequest{Method: "GET", Target: "/search?b=2&a=1"},
		For:     adminapi.Duration(time.Hour), Reason: "too dear",
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := r.get("/search?a=1&b=2"); a.status != 503 || !strings.Contains(a.body, v.ID) || !strings.Contains(a.body, "too dear") {
		t.Errorf("the same request in other words got %d %s", a.status, a.body)
	}
	if a := r.get("/search?a=1&b=3"); a.status != 200 {
		t.Errorf("another request got %d", a.status)
	}
	if err := r.admin.Release(ctx, v.ID); err != nil {
		t.Fatal(err)
	}
	if a := r.get("/search?a=1&b=2"); a.status != 200 {
		t.Errorf("after the release: %d", a.status)
	}

	r.get("/search?q=crash")
	var letters []bezoar.Letter
	r.until("both letters are written", func() bool {
		letters, err = r.admin.Letters(ctx, adminapi.LetterQuery{Limit: 10})
		return err != nil || len(letters) == 2
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range letters {
		out, err := r.admin.Redrive(ctx, l.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := adminapi.Answered
		if strings.Contains(l.Request.Target, "crash") {
			want = adminapi.Crashed
		}
		if out.Outcome != want {
			t.Errorf("redrive of %s: %+v, want %s", l.Request.Target, out, want)
		}
	}
	left, err := r.admin.Letters(ctx, adminapi.LetterQuery{Limit: 10})
	if err != nil || len(left) != 1 {
		t.Errorf("%d letters became %d (%v), want 2 and 1", len(letters), len(left), err)
	}
}

// A body beyond what is held streams: it is known by its head and length, is
// never sent twice, and its letter has the digest of the whole.
func TestALargeStreamedPill(t *testing.T) {
	t.Parallel()
	r := run(t, setup{Replicas: 3, Replay: config.ReplayAll})
	body := strings.Repeat("x", 100<<10) + "crash"
	if a := r.send("POST", "/import", body); a.status != http.StatusBadGateway {
		t.Errorf("the first copy got %d %s, want 502", a.status, a.body)
	}
	checkRefusal(t, r.send("POST", "/import", body))
	checkRefusal(t, r.send("POST", "/import", body))
	if a := r.send("POST", "/import", body[:len(body)-1]); a.status != http.StatusOK {
		t.Errorf("a shorter body got %d %s", a.status, a.body)
	}
	if d := r.deaths(); d != 2 {
		t.Errorf("%d workers died, want 2", d)
	}
	letters, err := r.admin.Letters(t.Context(), adminapi.LetterQuery{})
	if err != nil || len(letters) != 1 {
		t.Fatalf("letters %+v, %v", letters, err)
	}
	if q := letters[0].Request; !q.Truncated || q.Digest.IsZero() || q.BodySize != int64(len(body)) {
		t.Errorf("kept: truncated %v, digest %v, size %d", q.Truncated, q.Digest, q.BodySize)
	}
}

func TestQuarantineOff(t *testing.T) {
	t.Parallel()
	r := run(t, setup{Replicas: 2, Off: true})
	for i := range 3 {
		if a := r.get("/search?q=crash"); a.status != http.StatusBadGateway {
			t.Errorf("copy %d got %d %s, want 502", i, a.status, a.body)
		}
		r.until("it is replaced", func() bool { return r.serving() == 2 })
	}
	if vs := r.convicts(); len(vs) > 0 || r.deaths() != 3 {
		t.Errorf("%d deaths, verdicts %+v", r.deaths(), vs)
	}
}

func TestDrainFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	p := start(t, setup{Replicas: 2})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if a := p.get(fmt.Sprintf("/report?slow=%d", i)); a.status != 200 {
				t.Errorf("got %d %s", a.status, a.body)
			}
		})
	}
	p.until("all are in flight", func() bool {
		n := 0
		for _, w := range p.fleet().Workers {
			n += w.InFlight
		}
		return n == 8
	})
	pids := p.pids()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	wg.Wait()
	if err := reap(t, p.cmd); err != nil {
		t.Errorf("Bezoar ended with %v", err)
	}
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("worker %d outlived Bezoar", pid)
		}
	}
}
