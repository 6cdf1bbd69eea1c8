package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/calls"
	"github.com/bezoar-dev/bezoar/bench/internal/peer"
)

func TestParseFigures(t *testing.T) {
	f, err := parseFigures("Running 3s test\nbench {\"requests\":10,\"micros\":5,\"p50_us\":1,\"p99_us\":2,\"broken\":3,\"refused\":4}\n")
	if err != nil || f != (calls.Figures{Requests: 10, Micros: 5, P50: 1, P99: 2, Broken: 3, Refused: 4}) {
		t.Errorf("parseFigures = %+v, %v", f, err)
	}
	for _, out := range []string{"", "bench {", "bench {\"requests\":0}\n", "bench x\n"} {
		if _, err := parseFigures(out); err == nil {
			t.Errorf("parseFigures(%q) has no error", out)
		}
	}
}

func sampled(micros ...int) []sample {
	var all []sample
	for _, n := range micros {
		all = append(all, sample{cpu: time.Duration(n) * time.Microsecond, requests: 1})
	}
	return all
}

func TestRatiosComeFromTheSameRound(t *testing.T) {
	cfg := Config{Proxies: []string{nginx, bezoar}, Cases: cases()[:1], Rounds: 3, Length: time.Second}
	// The machine was twice as slow in the last two rounds.
	r := newReport(cfg, map[key][]sample{{"get", nginx}: sampled(10, 20, 20), {"get", bezoar}: sampled(15, 30, 30)})
	row := r.Cases[0].Rows[1]
	if row.ToNginx != 1.5 || row.ToReverseProxy != 0 {
		t.Errorf("ratios %g and %g, want 1.5 and 0 for a peer that was not measured", row.ToNginx, row.ToReverseProxy)
	}
	if row.CPU != 30 || row.CPUMin != 15 || row.CPUMax != 30 || row.Requests != 3 {
		t.Errorf("row %+v", row)
	}
	if !r.Within(1.5) || r.Within(1.4) {
		t.Error("1.5 times is within 1.5 and not within 1.4")
	}
	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), "(15.00–30.00)      1.50") {
		t.Errorf("table:\n%s", &table)
	}
}

func TestWithinNeedsBoth(t *testing.T) {
	cfg := Config{Proxies: []string{bezoar}, Cases: cases()[:1], Rounds: 1, Length: time.Second}
	if newReport(cfg, map[key][]sample{{"get", bezoar}: sampled(1)}).Within(2) {
		t.Error("within twice nginx's time without nginx")
	}
}

func TestCores(t *testing.T) {
	for n, want := range map[int][2]string{1: {"", ""}, 2: {"1", "0-0"}, 8: {"7", "0-6"}} {
		if proxy, others := cores(n); proxy != want[0] || others != want[1] {
			t.Errorf("cores(%d) = %q, %q; want %q", n, proxy, others, want)
		}
	}
}

func TestBadFlagsExitWith2(t *testing.T) {
	for _, args := range [][]string{
		{"-proxies", "apache"}, {"-proxies", ""}, {"-cases", "put"}, {"-rounds", "0"}, {"-length", "1500ms"}, {"-distinct", "0"}, {"-x"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, &out, &errs)
		}
	}
}

// Peers answer every case right, as Measure checks of every proxy before it
// measures. Bezoar is left out: it takes seconds to link.
func TestEveryCaseIsAnsweredRight(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // the build may be the first
	defer cancel()
	bench, err := peer.New(peer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	together(t, []string{"stub", "calls", "stock"}, func(program string) error {
		_, err := bench.Build(ctx, program)
		return err
	})
	names := []string{reverseProxy}
	for _, name := range []string{nginx, haproxy} {
		if peer.Installed(name) {
			names = append(names, name)
		} else {
			t.Log("not tried:", name)
		}
	}
	together(t, cases(), func(c Case) error { return checkAll(ctx, c, names, bench) })
}

// together calls f with each at the same time, and fails the test for the errors.
func together[T any](t *testing.T, each []T, f func(T) error) {
	t.Helper()
	errs := make([]error, len(each))
	var all sync.WaitGroup
	for i, one := range each {
		all.Go(func() { errs[i] = f(one) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func checkAll(ctx context.Context, c Case, names []string, bench *peer.Bench) error {
	running, stop, err := startAll(ctx, Config{Proxies: names}, c, bench, "")
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	defer stop()
	for name, p := range running {
		if err := c.check(ctx, p); err != nil {
			return fmt.Errorf("%s, %s: %w", c.Name, name, err)
		}
		if other := c; c.Calls == "" {
			if other.Answer = 3; other.check(ctx, p) == nil {
				return fmt.Errorf("%s, %s: an answer of another length passes", c.Name, name)
			}
		}
	}
	return nil
}

// The load of the new cases sends JSON, and nothing twice, also in another run.
func TestNewBodiesNeverRepeat(t *testing.T) {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		t.Skip("wrk is not installed")
	}
	c := Case{Method: "POST", Body: 1 << 10, New: true}
	dir := t.TempDir()
	load := loader{wrk: wrk, script: filepath.Join(dir, "load.lua"), bodies: filepath.Join(dir, "bodies")}
	if err := errors.Join(os.WriteFile(load.script, loadScript, 0o600), c.writeBodies(load.bodies)); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen, bad := map[string]bool{}, 0
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && (seen[string(body)] || !json.Valid(body)) { // the last requests break off
			bad++
		}
		seen[string(body)] = true
	}))
	defer server.Close()
	for range 2 {
		args := load.command(&peer.Proxy{Addr: server.Listener.Addr().String()}, c, time.Second)
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) < 200 || bad > 0 {
		t.Errorf("%d bodies, %d of them sent twice or not JSON", len(seen), bad)
	}
}
