package main

import (
	"context"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
)

// A row is one proxy in one configuration.
type row struct {
	name  string
	start func(ctx context.Context, b *peer.Bench, workers []string) (*peer.Proxy, error)
}

func nginx(name string, x peer.Extra) row {
	return row{name, func(ctx context.Context, b *peer.Bench, workers []string) (*peer.Proxy, error) {
		return b.Nginx(ctx, workers, x)
	}}
}

func haproxy(name, server string, directives ...string) row {
	return row{name, func(ctx context.Context, b *peer.Bench, workers []string) (*peer.Proxy, error) {
		return b.HAProxy(ctx, workers, peer.Extra{Server: server, Directives: directives})
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
		{"bezoar", func(ctx context.Context, b *peer.Bench, workers []string) (*peer.Proxy, error) {
			return b.Bezoar(ctx, workers, "--replay", "all")
		}},
	}
}

func rowNames() []string {
	var names []string
	for _, r := range rows() {
		names = append(names, r.name)
	}
	return names
}
