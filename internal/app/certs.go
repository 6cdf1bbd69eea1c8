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

// workerTrust reads the files by which workers are trusted that speak TLS.
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

// trustWorkers has the connections to workers that are made from now on secured as
// cfg says.
func (u *unit) trustWorkers(cfg *config.Fleet, log *slog.Logger) error {
	c, err := workerTrust(u.name, cfg.TLS, log)
	if err == nil {
		u.trust.Store(c)
	}
	return err
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
		Listen: addr, On: a.listen(handover.Redirect), DrainTimeout: time.Second, MaxConns: connlimit.Share(maxRedirects, connlimit.Redirects), Log: a.log,
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
