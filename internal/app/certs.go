package app

import (
	"fmt"
	"net"
	"time"

	"github.com/bezoar-dev/bezoar/gateway"
	"github.com/bezoar-dev/bezoar/internal/certs"
	"github.com/bezoar-dev/bezoar/internal/config"
	"github.com/bezoar-dev/bezoar/internal/connlimit"
)

func pairsOf(t *config.TLS) []certs.Pair {
	pairs := []certs.Pair{{Cert: t.Cert, Key: t.Key}}
	for _, m := range t.More {
		pairs = append(pairs, certs.Pair{Cert: m.Cert, Key: m.Key})
	}
	return pairs
}

// redirectFrom is where callers come by plain HTTP that are to come by TLS; "" for
// nowhere.
func redirectFrom(cfg *config.Config) string {
	if cfg.TLS == nil {
		return ""
	}
	return cfg.TLS.Redirect
}

// maxRedirects bounds the connections of callers that do not know of TLS.
const maxRedirects = 4096

// openRedirect listens for callers that do not know of TLS yet.
func (a *App) openRedirect() error {
	addr := redirectFrom(&a.cfg)
	if addr == "" {
		return nil
	}
	to := "https://{host}"
	if _, port, err := net.SplitHostPort(a.front.Addr().String()); err == nil && port != "443" {
		to += ":" + port
	}
	g, err := gateway.New(gateway.Config{Routes: []gateway.Route{{Name: "tls.redirect", Redirect: &gateway.Redirect{To: to}}}, Log: a.log})
	if err != nil {
		return fmt.Errorf("tls.redirect: %w", err)
	}
	if a.plain, err = gateway.NewServer(g, gateway.ServerConfig{
		Listen: addr, DrainTimeout: time.Second, MaxConns: connlimit.Share(maxRedirects, connlimit.Redirects), Log: a.log,
	}); err != nil {
		return fmt.Errorf("tls.redirect: %w", err)
	}
	a.log.Info("callers of plain HTTP are sent to HTTPS", "listen", a.plain.Addr().String())
	return nil
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
