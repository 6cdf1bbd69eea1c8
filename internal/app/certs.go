package app

import (
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/gateway"
	"github.com/bezoar-dev/bezoar/internal/gateway/certs"
	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
	"github.com/bezoar-dev/bezoar/internal/state/handover"
)

func pairsOf(t *config.TLS) []certs.Pair {
	pairs := []certs.Pair{{Cert: t.Cert, Key: t.Key}}
	for _, m := range t.More {
		pairs = append(pairs, certs.Pair{Cert: m.Cert, Key: m.Key})
	}
	return pairs
}

// workerTrust reads the files that verify workers with TLS.
func workerTrust(fleet string, t *config.WorkerTLS, log *slog.Logger) (*certs.Client, error) {
	cfg := certs.ClientConfig{Log: log.With("fleet", fleet)}
	if t != nil {
		cfg.CA, cfg.Name, cfg.Pair = t.CA, t.Name, certs.Pair{Cert: t.Cert, Key: t.Key}
	}
	c, err := certs.NewClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("fleets.%s.tls: %w", fleet, err)
	}
	return c, nil
}

// trustWorkers secures new connections to workers as cfg says.
func (u *unit) trustWorkers(cfg *config.Fleet, log *slog.Logger) error {
	c, err := workerTrust(u.name, cfg.TLS, log)
	if err == nil {
		u.trust.Store(c)
	}
	return err
}

// redirectFrom returns the address whose plain HTTP is redirected to TLS; "" for none.
func redirectFrom(cfg *config.Config) string {
	if cfg.TLS == nil {
		return ""
	}
	return cfg.TLS.Redirect
}

// maxRedirects bounds the connections to the redirecting listener.
const maxRedirects = 4096

// openRedirect opens the listener that redirects plain HTTP to TLS.
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
		Listen: addr, On: a.listen(handover.Redirect), DrainTimeout: time.Second, MaxConns: connlimit.Share(maxRedirects, connlimit.Redirects), Log: a.log,
	}); err != nil {
		return fmt.Errorf("tls.redirect: %w", err)
	}
	a.log.Info("this listener redirects plain HTTP to HTTPS", "listen", a.plain.Addr().String())
	return nil
}

// loadCerts reads the certificates that cfg names, for a listener with TLS. It returns nil for a listener without TLS;
// whether a listener has TLS cannot change while it runs.
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
