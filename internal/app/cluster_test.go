package app_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// cluster is three Bezoars over one PostgreSQL, each by a wire of its own.
type cluster struct {
	t     *testing.T
	nodes []*reloaded
	wires []*wire
	stop  []func() // good traffic
	good  atomic.Int64
	bad   atomic.Int64
}

const (
	clusterRate  = 40 // a second, of each metered caller, at all nodes together
	clusterBurst = 40
	clusterPoll  = 100 * time.Millisecond
)

// clusterText are the settings of all nodes, which differ with n in what nobody
// notices.
func clusterText(t *testing.T, n int) string {
	t.Helper()
	return fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: "memory:" # each node's own way to the store
live: {poll: %s}
plans:
  metered: {callers: [m-0, m-1, m-2], limits: [{rate: %d/s, burst: %d, shared: yes}]}
fleets: {app: {command: [%q], env: {%s: worker}, replicas: 3, max_in_flight: %d, health: {path: /healthz}}}
routes:
  - {match: {path: /*}, fleet: app, client: "header:X-Api-Key", plans: [metered], retry: {replay: all}}
  - {match: {path: /held/*}, fleet: app, breaker: on}
`, clusterPoll, clusterRate, clusterBurst, os.Getenv(workVar), roleVar, 64+n)
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	server := os.Getenv("BEZOAR_TEST_POSTGRES")
	if server == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	store := newDatabase(t, server)
	secret := make([]byte, 32) // nodes that share verdicts share it
	_, _ = rand.Read(secret)
	c := &cluster{t: t}
	for i := range 3 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "secret"), secret, 0o600); err != nil {
			t.Fatal(err)
		}
		w, through := newWire(t, store)
		n := followEdited(t, clusterText(t, 0), func(cfg *config.Config) {
			cfg.StateDir, cfg.Store, cfg.Node = dir, through, fmt.Sprint("node-", i)
		})
		c.nodes, c.wires = append(c.nodes, n), append(c.wires, w)
	}
	for _, n := range c.nodes {
		n.serving("app", 3)
		c.stop = append(c.stop, c.traffic(n))
	}
	return c
}

// traffic is from callers without a limit; all of it must be served.
func (c *cluster) traffic(n *reloaded) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			beat := time.NewTicker(think)
			defer beat.Stop()
			for k := 0; ctx.Err() == nil; k++ {
				<-beat.C
				if err := n.ask(fmt.Sprintf("/item?id=%d-%d", i, k), http.NoBody); err != nil {
					if c.bad.Add(1) <= 5 {
						c.t.Errorf("a good request: %v", err)
					}
				}
				c.good.Add(1)
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	c.t.Cleanup(stop)
	return stop
}

// knows reports whether a node has convicted work, or heard of it.
func (c *cluster) knows(at int, pill string) bool {
	c.t.Helper()
	all, err := c.nodes[at].admin.Verdicts(c.t.Context(), "")
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(v bezoar.Verdict) bool {
		return v.State == bezoar.Quarantined && v.Sample == "POST "+pill
	})
}

// convict sends a pill to a node, which refuses it from then on.
func (c *cluster) convict(at int, pill string) {
	c.t.Helper()
	if got := c.post(at, pill); got == http.StatusOK {
		c.t.Fatalf("the pill %s was served", pill)
	}
	c.nodes[at].until(pill+" is convicted", func() bool { return c.knows(at, pill) })
}

// reaches waits until a node refuses the pill. No worker dies of it there.
func (c *cluster) reaches(at int, pill string) {
	c.t.Helper()
	c.nodes[at].until(fmt.Sprintf("node %d knows of %s", at, pill), func() bool { return c.knows(at, pill) })
	if got := c.post(at, pill); got != http.StatusServiceUnavailable {
		c.t.Errorf("node %d answers %d to %s", at, got, pill)
	}
}

func (c *cluster) post(at int, pill string) int {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.nodes[at].url+pill, http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	res, err := c.nodes[at].http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// deaths counts the workers that a node has lost.
func (c *cluster) deaths(at int) (n int64) {
	c.t.Helper()
	all, err := c.nodes[at].admin.Fleets(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range all {
		n += f.Counters["deaths"]
	}
	return n
}

// meter sends as one caller to all nodes at once, for a while, and holds what
// they let through to what is promised: docs/rate-limits.md. apart is how many of
// them do not hear of the others.
func (c *cluster) meter(caller string, length time.Duration, apart int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), length)
	defer cancel()
	var sent, served atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for _, n := range c.nodes {
		wg.Go(func() {
			beat := time.NewTicker(10 * time.Millisecond)
			defer beat.Stop()
			for ctx.Err() == nil {
				sent.Add(1)
				switch got := n.status(caller); got {
				case http.StatusOK:
					served.Add(1)
				case http.StatusTooManyRequests:
				default:
					c.t.Errorf("caller %s: %d", caller, got)
				}
				<-beat.C
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	// Each of those apart, and the others together, have the limit for themselves.
	alone := float64(1+apart) * (clusterBurst + clusterRate*took.Seconds())
	others := float64(len(c.nodes) - 1 - apart)
	each := float64(sent.Load()) / float64(len(c.nodes)) / took.Seconds()
	const lag = 2 * (0.2 + 0.1) // an interval and a round trip
	bound := alone + others*min(each*lag, clusterBurst+clusterRate*lag)
	c.t.Logf("%s: %d of %d served in %v; at most %.0f, and by one node alone %.0f", caller, served.Load(), sent.Load(), took.Round(time.Millisecond), bound, clusterBurst+clusterRate*took.Seconds())
	least := float64(min(sent.Load(), clusterBurst)) // a slow machine may send fewer than fit
	if got := float64(served.Load()); got > bound || got < least {
		c.t.Errorf("%s got %.0f of %d requests in %v, want %.0f to %.0f", caller, got, sent.Load(), took, least, bound)
	}
}

// Three nodes with one store are one Bezoar: quotas, verdicts, settings and
// orders about breakers hold on all of them. One that is cut off goes on with
// what it knows, refuses nobody for it, and catches up.
func TestClusterSurvivesACut(t *testing.T) {
	t.Parallel()
	c := newCluster(t)

	c.convict(0, "/p?crash=1")
	c.reaches(1, "/p?crash=1")
	c.reaches(2, "/p?crash=1")
	c.meter("m-0", 2*time.Second, 0)

	c.wires[2].set(true)
	c.nodes[2].until("the cut is noticed", func() bool { return c.nodes[2].live().Status().Store.Error != "" })
	c.meter("m-1", 2*time.Second, 1)
	c.convict(0, "/p?crash=2")
	c.reaches(1, "/p?crash=2")
	if got := c.post(2, "/p?crash=1"); got != http.StatusServiceUnavailable {
		t.Errorf("the node that is cut off answers %d to what it has convicted", got)
	}
	c.convict(2, "/p?crash=3")
	c.put(1)
	c.force(0, breaker.Open)
	if got := c.nodes[2].live().Status().Running.Number; got != 1 {
		t.Errorf("the node that is cut off runs version %d", got)
	}

	lost := c.deaths(2)
	c.wires[2].set(false)
	c.reaches(2, "/p?crash=2")
	for at := range 2 {
		c.reaches(at, "/p?crash=3")
	}
	for _, n := range c.nodes {
		n.runs(clusterText(t, 1))
	}
	c.breakers(breaker.Open)
	if now := c.deaths(2); now != lost {
		t.Errorf("work that was convicted elsewhere cost %d workers", now-lost)
	}
	c.put(2)
	c.force(1, breaker.Closed)
	c.breakers(breaker.Closed)
	for _, n := range c.nodes {
		n.runs(clusterText(t, 2))
	}
	c.nodes[2].until("the counts are told", func() bool { return c.nodes[2].live().Status().Store.Error == "" })
	c.meter("m-2", 2*time.Second, 0)
	for _, stop := range c.stop {
		stop()
	}
	t.Logf("%d good requests", c.good.Load())
	if c.bad.Load() > 0 || c.good.Load() < 100 {
		t.Errorf("of %d good requests %d were not served", c.good.Load(), c.bad.Load())
	}
}

// put makes a version at the first node.
func (c *cluster) put(n int) {
	c.t.Helper()
	if _, err := c.nodes[0].live().Put(c.t.Context(), []byte(clusterText(c.t, n)), "ann", ""); err != nil {
		c.t.Fatal(err)
	}
}

const held = "app /held/*"

// force orders the breaker at a node.
func (c *cluster) force(at int, s breaker.State) {
	c.t.Helper()
	if _, err := c.nodes[at].admin.ForceBreaker(c.t.Context(), held, adminapi.ForceBreaker{State: s, For: adminapi.Duration(time.Hour)}); err != nil {
		c.t.Fatal(err)
	}
}

// breakers waits until the order holds everywhere.
func (c *cluster) breakers(want breaker.State) {
	c.t.Helper()
	for at, n := range c.nodes {
		n.until(fmt.Sprintf("the breaker of node %d is %v", at, want), func() bool {
			all, err := n.admin.Breakers(c.t.Context())
			return err == nil && slices.ContainsFunc(all, func(b circuit.Status) bool { return b.Name == held && b.State == want && b.Forced != nil })
		})
	}
}
