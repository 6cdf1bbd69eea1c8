package peer

import (
	"context"
	"path/filepath"

	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

// Stock runs Go's httputil.ReverseProxy, which is the program bench/stock.
func (b *Bench) Stock(ctx context.Context, workers []string) (*Proxy, error) {
	bin, err := b.Build(ctx, "stock")
	if err != nil {
		return nil, err
	}
	addrs, dir, err := b.place("stock")
	if err != nil {
		return nil, err
	}
	addr := addrs[0]
	return b.start(ctx, addr, proc.Spec{
		Name: "ReverseProxy", Dir: dir, Env: []string{"GOMAXPROCS=1"},
		Args: append([]string{bin, addr}, workers...),
	})
}

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
	return b.start(ctx, addr, proc.Spec{
		Name: "bezoar", Dir: dir, Env: []string{"GOMAXPROCS=1"}, Args: append(args, flags...),
	})
}
