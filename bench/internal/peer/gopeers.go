package peer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

// Stock runs Go's httputil.ReverseProxy, which is the program bench/stock.
func (b *Bench) Stock(ctx context.Context, workers []string, w Wire) (*Proxy, error) {
	bin, err := b.Build(ctx, "stock")
	if err != nil {
		return nil, err
	}
	addrs, dir, err := b.place("stock")
	if err != nil {
		return nil, err
	}
	addr := addrs[0]
	args := []string{bin}
	if w.TLS {
		p, err := b.certificate()
		if err != nil {
			return nil, err
		}
		args = append(args, "-cert", p.cert, "-key", p.key)
	}
	if w.GRPC {
		args = append(args, "-h2c")
	}
	return b.start(ctx, addr, w, proc.Spec{
		Name: "ReverseProxy", Dir: dir, Env: []string{"GOMAXPROCS=1"},
		Args: append(append(args, addr), workers...),
	})
}

// Use has what is started from now on run another binary of Bezoar; "" builds one.
func (b *Bench) Use(bezoar string) { b.cfg.Bezoar = bezoar }

// Binary returns the path of Bezoar's, and builds it if there is none.
func (b *Bench) Binary(ctx context.Context) (string, error) {
	if b.cfg.Bezoar != "" {
		return filepath.Abs(b.cfg.Bezoar)
	}
	return b.build(ctx, "..", "./cmd/bezoar", "bezoar")
}

// Bezoar runs "bezoar run" with everything on: ledger, body hash, SQLite store,
// journal and admin API. Each of flags is added to its arguments.
func (b *Bench) Bezoar(ctx context.Context, workers []string, flags ...string) (*Proxy, error) {
	bin, err := b.Binary(ctx)
	if err != nil {
		return nil, err
	}
	addrs, dir, err := b.place("bezoar")
	if err != nil {
		return nil, err
	}
	addr, admin := addrs[0], addrs[1]
	args := []string{bin, "run", "--listen", addr, "--admin", admin}
	if b.cfg.Health != "" {
		args = append(args, "--health", b.cfg.Health)
	}
	for _, w := range workers {
		args = append(args, "--worker", "http://"+w)
	}
	return b.start(ctx, addr, Wire{}, proc.Spec{
		Name: "bezoar", Dir: dir, Env: []string{"GOMAXPROCS=1"}, Args: append(args, flags...),
	})
}

const bezoarYAML = `listen: %s
admin: %s
store: sqlite:bezoar.db
%sfleets:
  app:
    workers: [%s]
    http2: %t
routes:
  - match: {path: /*}
    fleet: app
`

// BezoarServe runs "bezoar serve" with settings that say the same as the flags of
// [Bench.Bezoar], and what is to be spoken.
func (b *Bench) BezoarServe(ctx context.Context, workers []string, w Wire) (*Proxy, error) {
	bin, err := b.Binary(ctx)
	if err != nil {
		return nil, err
	}
	addrs, dir, err := b.place("bezoar")
	if err != nil {
		return nil, err
	}
	certs := ""
	if w.TLS {
		p, err := b.certificate()
		if err != nil {
			return nil, err
		}
		certs = fmt.Sprintf("tls: {cert: %s, key: %s}\n", p.cert, p.key)
	}
	urls := strings.TrimSuffix(lines("http://%s, ", workers), ", ")
	file := filepath.Join(dir, "bezoar.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, bezoarYAML, addrs[0], addrs[1], certs, urls, w.GRPC), 0o600); err != nil {
		return nil, err
	}
	return b.start(ctx, addrs[0], w, proc.Spec{
		Name: "bezoar", Dir: dir, Env: []string{"GOMAXPROCS=1"}, Args: []string{bin, "serve", "-c", file},
	})
}
