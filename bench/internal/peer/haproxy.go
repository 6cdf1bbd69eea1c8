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
	timeout tunnel 30s
	http-reuse always
frontend front
	bind %[1]s backlog 1024%[4]s
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
	bind, server := "", x.Server
	if x.Wire.TLS {
		p, err := b.certificate()
		if err != nil {
			return nil, err
		}
		bind += " ssl crt " + p.both
	}
	if x.Wire.GRPC {
		bind, server = bind+" proto h2", server+" proto h2"
	}
	var servers strings.Builder
	for i, w := range workers {
		fmt.Fprintf(&servers, "\tserver w%d %s %s\n", i+1, w, server)
	}
	conf := fmt.Sprintf(haproxyConf, addr, lines("\t%s\n", x.Directives), servers.String(), bind)
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	return b.start(ctx, addr, x.Wire, proc.Spec{
		Name: "haproxy", Dir: dir, Args: []string{bin, "-q", "-db", "-f", file},
	})
}
