package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
	"github.com/bezoar-dev/bezoar/internal/each"
)

// A row is one proxy in one configuration.
type row struct {
	name  string
	start func(ctx context.Context, b *peer.Bench, workers []string, p Pill) (*peer.Proxy, error)
}

// overdue is after how many seconds every proxy gives a worker up, where pills
// hang. Their defaults of 30 and 60 s are longer than callers wait.
const overdue = 2

func nginx(name string, x peer.Extra) row {
	return row{name, func(ctx context.Context, b *peer.Bench, workers []string, p Pill) (*peer.Proxy, error) {
		x := x
		if p == hang {
			x.Directives = append(slices.Clone(x.Directives), fmt.Sprintf("proxy_read_timeout %ds", overdue))
		}
		return b.Nginx(ctx, workers, x)
	}}
}

func haproxy(name, server string, directives ...string) row {
	return row{name, func(ctx context.Context, b *peer.Bench, workers []string, p Pill) (*peer.Proxy, error) {
		x := peer.Extra{Server: server, Directives: directives}
		if p == hang {
			x.Directives = append(slices.Clone(directives), fmt.Sprintf("timeout server %ds", overdue))
		}
		return b.HAProxy(ctx, workers, x)
	}}
}

func rows() []row {
	retry := []string{
		"option redispatch 1", "retries 3", "retry-on all-retryable-errors", "option http-buffer-request",
		"option httpchk GET " + healthPath, // where servers say check
	}
	return []row{
		nginx("nginx", peer.Extra{}),
		// Stock nginx shuns a worker for 10 s after one error.
		nginx("nginx-lenient", peer.Extra{Server: "max_fails=0"}),
		nginx("nginx-retry", peer.Extra{
			Server: "max_fails=0", Directives: []string{"proxy_next_upstream error timeout non_idempotent"},
		}),
		haproxy("haproxy", ""),
		haproxy("haproxy-retry", "", retry...),
		haproxy("haproxy-check", "check inter 1s", retry...),
		// Counting by hand, as one may script it: each request is a key, two
		// failures of one within a minute and it is refused.
		haproxy("haproxy-table", "check inter 1s",
			"option httpchk GET "+healthPath,
			"option http-buffer-request",
			"stick-table type binary len 20 size 64k expire 60s store http_fail_cnt",
			`http-request set-var-fmt(txn.work) "%[method] %[url] %[req.body]"`,
			"http-request track-sc0 var(txn.work),sha1",
			"http-request deny deny_status 503 if { sc_http_fail_cnt(0) ge 2 }",
		),
		{"bezoar", func(ctx context.Context, b *peer.Bench, workers []string, p Pill) (*peer.Proxy, error) {
			flags := []string{"--replay", "all"}
			if p == hang {
				flags = append(flags, "--timeout", fmt.Sprintf("%ds", overdue))
			}
			return b.Bezoar(ctx, workers, flags...)
		}},
	}
}

func rowNames() []string {
	return each.Of(rows(), func(r row) string { return r.name })
}
