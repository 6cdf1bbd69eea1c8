package peer

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

// Every proxy that is installed passes requests on to every worker.
func TestProxiesReachEveryWorker(t *testing.T) {
	var workers []string
	for _, name := range []string{"a", "b"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, name)
		}))
		defer s.Close()
		workers = append(workers, s.Listener.Addr().String())
	}
	b, err := New(Config{Health: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, p := range []struct {
		program string
		start   func() (*Proxy, error)
	}{
		{"go", func() (*Proxy, error) { return b.Stock(t.Context(), workers, Wire{}) }},
		{"nginx", func() (*Proxy, error) {
			return b.Nginx(t.Context(), workers, Extra{Server: "max_fails=0", Directives: []string{"proxy_read_timeout 2s"}})
		}},
		{"haproxy", func() (*Proxy, error) {
			return b.HAProxy(t.Context(), workers, Extra{Server: "check inter 1s", Directives: []string{"option redispatch 1"}})
		}},
	} {
		if _, err := find(p.program); err != nil {
			t.Logf("not tried: %v", err)
			continue
		}
		proxy, err := p.start()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for range 10 {
			seen[body(t, proxy.URL())] = true
		}
		if !seen["a"] || !seen["b"] || len(seen) != 2 {
			t.Errorf("%s: answers %v, want some of both workers", p.program, seen)
		}
		if used, err := proxy.CPU(); err != nil || used < 0 {
			t.Errorf("%s: CPU time %v, %v", p.program, used, err)
		}
		proxy.Stop()
	}
}

func body(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAProxyThatEndsSaysWhy(t *testing.T) {
	b, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	addrs, err := proc.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.start(t.Context(), addrs[0], Wire{}, proc.Spec{Name: "mute", Args: []string{"sh", "-c", "echo bad directive >&2; exit 1"}})
	if err == nil || !strings.Contains(err.Error(), "mute ended: exit status 1\nbad directive") {
		t.Errorf("start = %v", err)
	}
}

func TestWaitGivesUpWithItsContext(t *testing.T) {
	b, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := b.Start(proc.Spec{Name: "cat", Args: []string{"cat"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Wait(ctx, c, "http://127.0.0.1:1"); err == nil {
		t.Error("Wait has no error after its context ended")
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	b, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Start(proc.Spec{Name: "loop", Args: []string{"sh", "-c", "while :; do sleep 1; done"}})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	select {
	case <-c.Done():
	default:
		t.Error("a process outlives Close")
	}
	if _, err := os.Stat(b.Dir()); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestFindNamesTheScript(t *testing.T) {
	if _, err := exec.LookPath("no-such-peer"); err == nil {
		t.Fatal("no-such-peer is installed")
	}
	if _, err := find("no-such-peer"); err == nil || !strings.Contains(err.Error(), "scripts/peers") {
		t.Errorf("find = %v", err)
	}
}
