package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
)

// The phases.
const (
	before = "before"
	during = "cut off"
	mended = "mended"
	after  = "after"
)

const (
	lonely   = 2 // the node that is cut off
	patience = 30 * time.Second
	offered  = 1.2 // times the whole rate, by each limited caller to each node
)

// Measure builds it all, cuts, mends and takes it down.
func Measure(ctx context.Context, cfg Config, progress io.Writer) (_ *Report, err error) {
	if err := mayNot(); err != nil {
		return nil, err
	}
	server, err := url.Parse(cfg.Postgres)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	drop, err := database(ctx, server)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	links, err := newNetwork(3)
	if err != nil {
		return nil, err
	}
	defer links.Close()
	to := server.Host
	server.Host = net.JoinHostPort(storeNet+ourHost, server.Port())
	way, err := newRelay(server.Host, to)
	if err != nil {
		return nil, err
	}
	defer way.Close()
	b, err := peer.New(peer.Config{Bezoar: cfg.Bezoar})
	if err != nil {
		return nil, err
	}
	defer b.Close() // first: nodes leave while the store is there
	m := &measurement{cfg: cfg, links: links, store: server.String(), report: &Report{Nodes: 3, Rate: cfg.Rate}, progress: progress}
	if err := m.start(ctx, b); err != nil {
		return nil, err
	}
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	m.report.Cores = runtime.NumCPU()
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(text), &m.report.Load)
	}
	return m.report, nil
}

// database makes one, puts it into the URL, and returns what drops it.
func database(ctx context.Context, server *url.URL) (drop func() error, err error) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/psql")
		if len(found) == 0 {
			return nil, errors.New("psql is not installed: apt-get install postgresql-client")
		}
		psql = found[len(found)-1]
	}
	at, name := server.String(), fmt.Sprintf("cluster_%d", os.Getpid())
	do := func(ctx context.Context, statement string) error {
		out, err := exec.CommandContext(ctx, psql, "-qAt", "-c", statement, at).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", statement, err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	if err := do(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, err
	}
	server.Path = "/" + name
	return func() error { return do(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)") }, nil
}

type measurement struct {
	cfg      Config
	links    *network
	store    string // URL, as the nodes see it
	worker   string // the program
	nodes    []*node
	crowd    *crowd
	version  int
	pills    int
	progress io.Writer

	mu     sync.Mutex // guards report.Spread
	report *Report
}

func (m *measurement) say(format string, args ...any) { fmt.Fprintf(m.progress, format+"\n", args...) }

func (m *measurement) start(ctx context.Context, b *peer.Bench) error {
	bezoar, err := b.Binary(ctx)
	if err != nil {
		return err
	}
	if m.worker, err = os.Executable(); err != nil {
		return err
	}
	secret := make([]byte, 32) // one for all: they could not share verdicts and counts
	_, _ = rand.Read(secret)
	for i := range m.report.Nodes {
		n, err := startNode(ctx, b, m.links, i, bezoar, secret, m.cfg.settings(m.store, m.worker, 0))
		if err != nil {
			return err
		}
		m.nodes = append(m.nodes, n)
	}
	m.crowd = newCrowd(m.nodes)
	return nil
}

// run goes through the phases.
func (m *measurement) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer m.crowd.wg.Wait()
	defer stop()
	rate := float64(m.cfg.Rate)
	m.crowd.send(ctx, "good", float64(m.cfg.Good))
	m.crowd.send(ctx, "bucket", offered*rate)
	m.crowd.send(ctx, "window", offered*rate)
	var known, elsewhere, here string
	err := m.phase(ctx, before, m.cfg.Length, 1, func() (err error) {
		for i := range 4 {
			if known, err = m.round(ctx, before, i%len(m.nodes), m.nodes); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := m.links.cut(lonely); err != nil {
		return err
	}
	err = m.phase(ctx, during, m.cfg.Cut, 2, func() (err error) {
		others := slices.Delete(slices.Clone(m.nodes), lonely, lonely+1)
		if elsewhere, err = m.round(ctx, during, 0, others); err != nil {
			return err
		}
		if here, err = m.tellVerdict(ctx, during, m.nodes[lonely], nil); err != nil {
			return err
		}
		m.remembers(ctx, known)
		return nil
	})
	if err != nil {
		return err
	}
	lost := m.deaths(ctx)
	if err := m.links.mend(lonely); err != nil {
		return err
	}
	return m.phase(ctx, after, m.cfg.Length, 1, func() error {
		if err := m.catchUp(ctx, time.Now(), elsewhere, here); err != nil {
			return err
		}
		m.report.Lost = m.deaths(ctx) - lost
		for i := range 3 {
			if _, err := m.round(ctx, after, i, m.nodes); err != nil {
				return err
			}
		}
		return nil
	})
}

// phase does something, waits for its end and counts.
func (m *measurement) phase(ctx context.Context, name string, length time.Duration, groups int, do func() error) error {
	m.say("%s: %v", name, length)
	callers := []string{"good", "bucket", "window"}
	var then []count
	for _, c := range callers {
		then = append(then, m.crowd.now(c))
	}
	began := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	rest := time.NewTimer(time.Until(began.Add(length)))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	took := time.Since(began).Seconds()
	p := Phase{Name: name, Seconds: took}
	for i, c := range callers {
		got := m.crowd.now(c).less(then[i])
		if c == "good" {
			p.Good = got
			continue
		}
		q := Quota{Caller: c, count: got, Limit: alone(c, float64(m.cfg.Rate), took)}
		q.Bound = bound(q.Limit, float64(got.Sent)/took/float64(len(m.nodes)), len(m.nodes), groups)
		p.Quotas = append(p.Quotas, q)
	}
	m.report.Phases = append(m.report.Phases, p)
	return nil
}

// round has a pill convicted, the settings changed and the breaker ordered at one
// node, and measures when the others know. It returns the pill.
func (m *measurement) round(ctx context.Context, when string, at int, all []*node) (string, error) {
	n := all[at]
	others := slices.DeleteFunc(slices.Clone(all), func(o *node) bool { return o == n })
	pill, err := m.tellVerdict(ctx, when, n, others)
	if err != nil {
		return "", err
	}
	for _, o := range others {
		if got := o.send(ctx, pill, http.MethodPost, pill, poison); got != http.StatusServiceUnavailable {
			return "", fmt.Errorf("node %s answers %d to what node %s has convicted", o.name, got, n.name)
		}
	}
	m.version++
	began := time.Now()
	number, err := n.put(ctx, m.cfg.settings(m.store, m.worker, m.version))
	if err != nil {
		return "", err
	}
	if err := m.spread(ctx, "version", when, began, others, func(o *node) bool { return o.runs(ctx) == number }); err != nil {
		return "", err
	}
	want := []string{"open", "closed"}[m.version%2]
	began = time.Now()
	if err := n.force(ctx, want); err != nil {
		return "", err
	}
	return pill, m.spread(ctx, "breaker", when, began, others, func(o *node) bool { return o.forced(ctx) == want })
}

// tellVerdict has a pill convicted at one node, and measures when the others know.
// They are asked from the beginning: the caller of the pill is answered later.
func (m *measurement) tellVerdict(ctx context.Context, when string, n *node, others []*node) (pill string, err error) {
	m.pills++
	pill = fmt.Sprintf("/pill-%d?p%d=1", m.pills, m.pills) // of a shape and a caller of its own: no suspicion on either
	seen, errs := make([]time.Time, len(others)), make([]error, len(others)+1)
	var wg sync.WaitGroup
	for i, o := range others {
		wg.Go(func() {
			errs[i] = until(ctx, "node "+o.name+" knows of a pill", patience, func() bool { _, ok := o.convicted(ctx, pill); return ok })
			seen[i] = time.Now()
		})
	}
	errs[len(others)] = m.convict(ctx, n, pill)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	since, _ := n.convicted(ctx, pill)
	for _, at := range seen {
		m.report.Spread = append(m.report.Spread, Spread{What: "verdict", When: when, MS: ms(at.Sub(since))})
	}
	return pill, nil
}

// convict sends a new pill to a node until that has convicted it.
func (m *measurement) convict(ctx context.Context, n *node, pill string) error {
	return until(ctx, "node "+n.name+" has convicted a pill", patience, func() bool {
		n.send(ctx, pill, http.MethodPost, pill, poison)
		_, ok := n.convicted(ctx, pill)
		return ok
	})
}

// spread waits for the others, all at once.
func (m *measurement) spread(ctx context.Context, what, when string, since time.Time, others []*node, there func(*node) bool) error {
	errs := make([]error, len(others))
	var wg sync.WaitGroup
	for i, o := range others {
		wg.Go(func() {
			errs[i] = until(ctx, "the "+what+" is at node "+o.name, patience, func() bool { return there(o) })
			took := time.Since(since)
			m.mu.Lock()
			defer m.mu.Unlock()
			m.report.Spread = append(m.report.Spread, Spread{What: what, When: when, MS: ms(took)})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// remembers sends copies of a pill that was convicted before to the node that is
// cut off, for a while.
func (m *measurement) remembers(ctx context.Context, pill string) {
	for range 20 {
		if m.nodes[lonely].send(ctx, pill, http.MethodPost, pill, poison) == http.StatusServiceUnavailable {
			m.report.Refused++
		} else {
			m.report.Let++
		}
	}
}

// catchUp measures when what happened on either side is known on the other.
func (m *measurement) catchUp(ctx context.Context, since time.Time, elsewhere, here string) error {
	cut, others := m.nodes[lonely:lonely+1], m.nodes[:lonely]
	newest := m.nodes[0].runs(ctx)
	want := m.nodes[0].forced(ctx)
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i, do := range []func() error{
		func() error {
			return m.spread(ctx, "verdict", mended, since, cut, func(o *node) bool { _, ok := o.convicted(ctx, elsewhere); return ok })
		},
		func() error {
			return m.spread(ctx, "verdict", mended, since, others, func(o *node) bool { _, ok := o.convicted(ctx, here); return ok })
		},
		func() error {
			return m.spread(ctx, "version", mended, since, cut, func(o *node) bool { return o.runs(ctx) == newest })
		},
		func() error {
			return m.spread(ctx, "breaker", mended, since, cut, func(o *node) bool { return o.forced(ctx) == want })
		},
	} {
		wg.Go(func() { errs[i] = do() })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if got := m.nodes[lonely].send(ctx, elsewhere, http.MethodPost, elsewhere, poison); got != http.StatusServiceUnavailable {
		return fmt.Errorf("node %s answers %d to what others convicted while it was cut off", m.nodes[lonely].name, got)
	}
	return nil
}

// deaths counts the workers that the node which is cut off has lost.
func (m *measurement) deaths(ctx context.Context) (n int) {
	var out struct {
		Fleets []struct {
			Counters map[string]int `json:"counters"`
		} `json:"fleets"`
	}
	if m.nodes[lonely].ask(ctx, http.MethodGet, "/api/v1/fleets", nil, &out) != nil {
		return 0
	}
	for _, f := range out.Fleets {
		n += f.Counters["deaths"]
	}
	return n
}
