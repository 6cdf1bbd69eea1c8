package peer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

const haproxyConf = `global
	nbthread 1
	maxconn 8192
defaults
	mode http
	timeout connect 5s
	timeout client 30s
	timeout server 30s
	http-reuse always
frontend front
	bind %[1]s backlog 1024
	default_backend workers
backend workers
	balance roundrobin
%[2]s%[3]s`

// HAProxy runs HAProxy.
func (b *Bench) HAProxy(ctx context.Context, workers []string, x Extra) (*Proxy, error) {
	bin, err := find("haproxy")
	if err != nil {
		return nil, err
	}
	addrs, dir, err := b.place("haproxy")
	if err != nil {
		return nil, err
	}
	addr := addrs[0]
	var servers strings.Builder
	for i, w := range workers {
		fmt.Fprintf(&servers, "\tserver w%d %s %s\n", i+1, w, x.Server)
	}
	conf := fmt.Sprintf(haproxyConf, addr, lines("\t%s\n", x.Directives), servers.String())
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	return b.start(ctx, addr, proc.Spec{
		Name: "haproxy", Dir: dir, Args: []string{bin, "-q", "-db", "-f", file},
	})
}
