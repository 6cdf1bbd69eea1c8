package app

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/certs"
	"github.com/bezoar-dev/bezoar/internal/config"
)

func pairsOf(t *config.TLS) []certs.Pair {
	pairs := []certs.Pair{{Cert: t.Cert, Key: t.Key}}
	for _, m := range t.More {
		pairs = append(pairs, certs.Pair{Cert: m.Cert, Key: m.Key})
	}
	return pairs
}

// loadCerts reads the certificates that cfg names, for a listener that has TLS. It
// returns nil for one that has not: that does not change while it runs.
func (a *App) loadCerts(cfg *config.Config) (*certs.Set, error) {
	if a.certs == nil || cfg.TLS == nil {
		return nil, nil
	}
	set, err := certs.Load(pairsOf(cfg.TLS))
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return set, nil
}
