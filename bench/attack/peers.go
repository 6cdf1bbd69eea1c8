package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

// loop is the supervisor of a worker behind another proxy. It restarts as fast as
// Bezoar does after a first death.
const loop = `while :; do "$@"; sleep 0.1; done`

// A rival is another proxy in one configuration.
type rival struct {
	name    string
	program string
	start   func(ctx context.Context, b *peer.Bench, workers []string) (*peer.Proxy, error)
}

// rivals are those of bench/pill that do best, and nginx as it comes.
func rivals() []rival {
	nginx := func(x peer.Extra) func(context.Context, *peer.Bench, []string) (*peer.Proxy, error) {
		return func(ctx context.Context, b *peer.Bench, workers []string) (*peer.Proxy, error) {
			return b.Nginx(ctx, workers, x)
		}
	}
	haproxy := func(server string, directives ...string) func(context.Context, *peer.Bench, []string) (*peer.Proxy, error) {
		return func(ctx context.Context, b *peer.Bench, workers []string) (*peer.Proxy, error) {
			return b.HAProxy(ctx, workers, peer.Extra{
				Server: server, Directives: append(directives, "option httpchk GET "+healthPath, "option http-buffer-request"),
			})
		}
	}
	return []rival{
		{"nginx", "nginx", nginx(peer.Extra{})},
		{"nginx-lenient", "nginx", nginx(peer.Extra{Server: "max_fails=0"})},
		{"haproxy-check", "haproxy", haproxy("check inter 1s", "option redispatch 1", "retries 3", "retry-on all-retryable-errors")},
		{"haproxy-table", "haproxy", haproxy("check inter 1s",
			"stick-table type binary len 20 size 64k expire 60s store http_fail_cnt",
			`http-request set-var-fmt(txn.work) "%[method] %[url] %[req.body]"`,
			"http-request track-sc0 var(txn.work),sha1",
			"http-request deny deny_status 503 if { sc_http_fail_cnt(0) ge 2 }",
		)},
	}
}

// measurePeer runs a row once behind another proxy.
func measurePeer(ctx context.Context, cfg Config, r row, rv rival) (*Run, error) {
	bench, err := peer.New(peer.Config{Health: healthPath})
	if err != nil {
		return nil, err
	}
	defer bench.Close()
	workers, l, err := startLoops(ctx, cfg, bench)
	if err != nil {
		return nil, err
	}
	proxy, err := rv.start(ctx, bench, workers)
	if err != nil {
		return nil, err
	}
	s := newScene(cfg, r, proxy.Addr)
	defer s.crowd.close()
	if err := s.play(ctx, nil); err != nil {
		return nil, err
	}
	if err := proxy.Err(); err != nil {
		return nil, err
	}
	b, err := l.count()
	if err != nil {
		return nil, err
	}
	run := newRun(rv.name, s.tally)
	run.Started, run.Lost, run.LostByPill = b.started, b.lost, b.pills
	return run, nil
}

// startLoops starts workers that are restarted whenever they die.
func startLoops(ctx context.Context, cfg Config, bench *peer.Bench) ([]string, lives, error) {
	l := lives{filepath.Join(bench.Dir(), "lives")}
	command, err := workerCommand(ctx, cfg.Lang, bench)
	if err != nil {
		return nil, l, err
	}
	addrs, err := proc.FreeAddrs(cfg.Workers)
	if err != nil {
		return nil, l, err
	}
	for i, addr := range addrs {
		_, port, _ := strings.Cut(addr, ":")
		c, err := bench.Start(proc.Spec{
			Name: fmt.Sprintf("worker %d", i+1),
			Args: append([]string{"sh", "-c", loop, "loop"}, command...),
			Env:  []string{"PORT=" + port, "ATTACK_LIVES=" + l.file, "ATTACK_LEASH=1"},
		})
		if err != nil {
			return nil, l, err
		}
		if err := peer.Wait(ctx, c, "http://"+addr+healthPath); err != nil {
			return nil, l, err
		}
	}
	return addrs, l, nil
}
