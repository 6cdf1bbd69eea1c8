package gateway

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// generations make settings that differ in all that could leak from one to the
// next: routes, the hashes of callers, who is trusted.
type generations struct {
	t       *testing.T
	worker  *direct
	printer [2]*fingerprint.Printer
	seen    sync.Map // target → generation
}

func (g *generations) trusts(n int) bool { return n%3 == 0 }

func (g *generations) config(n int) Config {
	trusted := "10.0.0.0/8"
	if g.trusts(n) {
		trusted = "127.0.0.0/8"
	}
	cfg := Config{MaxBuffered: 1 << 20, TrustedProxies: []netip.Prefix{netip.MustParsePrefix(trusted)}}
	p := g.printer[n%2]
	for _, path := range []string{"/a/", "/b/"} {
		name := fmt.Sprint(path, n)
		cfg.Routes = append(cfg.Routes, Route{
			Name: name, Path: path + "*", Printer: p, Client: "header:X-Who",
			Doer: doFunc(func(ctx context.Context, w dispatch.Work, j dispatch.Job) dispatch.Answer {
				target := strings.TrimPrefix(j.Sample(), "POST ")
				if w.Route != name || !strings.HasPrefix(target, path) {
					g.t.Errorf("generation %d's doer of %s was given %s of route %s", n, path, target, w.Route)
				}
				if who := strings.Split(target, "/")[2]; w.Client != p.Client(who) {
					g.t.Errorf("%s in generation %d: its caller has another's hash, or another generation's", target, n)
				}
				g.seen.Store(target, n)
				return g.worker.Do(ctx, w, j)
			}),
		})
	}
	return cfg
}

// TestSwapsUnderTraffic: a thousand swaps while callers go on over connections
// that stay open. Every request is answered, by the route of one generation, with
// that generation's settings.
func TestSwapsUnderTraffic(t *testing.T) {
	const swaps, callers = 1000, 8
	w := startWorker(t, func(c *workerConn) {
		for {
			r, body := c.request()
			if r == nil {
				return
			}
			text := r.URL.Path + " " + r.Header.Get("X-Forwarded-For") + " " + fmt.Sprint(len(body))
			c.send(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n%s", len(text), text))
		}
	})
	gs := &generations{t: t, worker: newDirect(t, w.addr)}
	for i := range gs.printer {
		p, err := fingerprint.New(fingerprint.Key{byte(i + 1)}, fingerprint.Config{})
		if err != nil {
			t.Fatal(err)
		}
		gs.printer[i] = p
	}
	f := serveConfig(t, gs.config(0), ServerConfig{})

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan bool)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { gs.call(ctx, f.addr, fmt.Sprint("caller", i), ended) })
	}
	late := time.After(3 * patience)
	for n := range swaps {
		for range 1 + n%3 { // so that the traffic keeps up with us
			select {
			case <-ended:
			case <-late:
				t.Fatal("the traffic stands still")
			}
		}
		if err := f.g.Swap(gs.config(n + 1)); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	noneHeld(t, f.g)
}

// call sends requests over one connection until ctx ends.
func (g *generations) call(ctx context.Context, addr, who string, ended chan<- bool) {
	c, err := dialMix(addr)
	if err != nil {
		g.t.Error(err)
		return
	}
	defer c.Close()
	rnd := rand.New(rand.NewPCG(1, uint64(len(who)+int(who[len(who)-1]))))
	for n := 0; ctx.Err() == nil; n++ {
		target := fmt.Sprintf("/%c/%s/%d", "ab"[rnd.IntN(2)], who, n)
		body := strings.Repeat("x", []int{0, 0, 0, 10, 10, 100, 5_000, 70_000}[rnd.IntN(8)])
		_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: h\r\nX-Who: %s\r\nX-Forwarded-For: 192.0.2.9\r\nContent-Length: %d\r\n\r\n%s", target, who, len(body), body)
		if err != nil {
			g.t.Errorf("%s: %v", target, err)
			return
		}
		resp, err := http.ReadResponse(c.br, nil)
		if err != nil {
			g.t.Errorf("%s: %v", target, err)
			return
		}
		got, err := io.ReadAll(resp.Body)
		gen, _ := g.seen.LoadAndDelete(target)
		from := "127.0.0.1"
		if at, ok := gen.(int); ok && g.trusts(at) {
			from = "192.0.2.9, " + from
		}
		if want := fmt.Sprintf("%s %s %d", target, from, len(body)); resp.StatusCode != 200 || err != nil || string(got) != want {
			g.t.Errorf("%s in generation %v: %s %q, %v, want %q", target, gen, resp.Status, got, err, want)
		}
		select {
		case ended <- true:
		case <-ctx.Done():
		}
	}
}

// TestARequestInFlightEndsWithItsSettings, also when its route is gone before
// its body has come; the next one on the connection gets the new ones.
func TestARequestInFlightEndsWithItsSettings(t *testing.T) {
	w := startWorker(t, answering(hello))
	old := Route{Name: "old", Path: "/old", Doer: newDirect(t, w.addr), Printer: newPrinter(t)}
	f := serveConfig(t, Config{Routes: []Route{old}}, ServerConfig{})
	c := dial(t, f.addr)
	c.send("POST /old HTTP/1.1\nHost: h\nContent-Length: 8\n\nhalf")
	wait := time.NewTicker(time.Millisecond)
	defer wait.Stop()
	for f.g.Held() == 0 {
		<-wait.C
	}
	if err := f.g.Swap(Config{}); err == nil || f.g.Held() == 0 {
		t.Errorf("an empty configuration: %v, %d bytes held", err, f.g.Held())
	}
	if err := f.g.Swap(Config{Routes: []Route{{Name: "new", Path: "/new", Doer: old.Doer, Printer: old.Printer}}}); err != nil {
		t.Fatal(err)
	}
	if f.g.Held() == 0 {
		t.Error("what is held of bodies was forgotten")
	}
	c.send("half")
	if resp, body := c.answer("POST"); resp.StatusCode != 200 || body != "hello" {
		t.Errorf("in flight: %s %s", resp.Status, body)
	}
	for path, status := range map[string]int{"/old": 404, "/new": 200} {
		c.send("GET " + path + " HTTP/1.1\nHost: h\n\n")
		if resp, _ := c.answer("GET"); resp.StatusCode != status {
			t.Errorf("%s afterwards: %s, want %d", path, resp.Status, status)
		}
	}
	noneHeld(t, f.g)
}
