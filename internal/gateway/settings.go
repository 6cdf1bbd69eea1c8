package gateway

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
)

// settings is one generation of a gateway's configuration. It never changes: a request keeps the one that it began with.
type settings struct {
	cfg    Config
	table  table
	redact redact.Names
	// tickets answers status questions; nil if no route enqueues.
	tickets Enqueuer
	used    *generation
	unread  atomic.Int64 // when an unreadable address was logged last, Unix nanoseconds
}

// newSettings returns the settings of cfg, or every fault of it. own keys the hashes of callers if cfg has no Printer.
func newSettings(cfg Config, own [32]byte) (*settings, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	cfg.MaxBuffered = cmp.Or(cfg.MaxBuffered, DefaultMaxBuffered)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	s := &settings{cfg: cfg, table: newTable(cfg.Routes), used: new(generation), redact: redact.NewNames(cfg.Redact)}
	secret := secretOf(cfg.Routes, own)
	for _, r := range s.table {
		r.policy = admission.NewPolicy(r.admission(&cfg), secret)
	}
	for _, r := range cfg.Routes {
		if r.Enqueue != nil {
			s.tickets = r.Enqueue
		}
	}
	return s, nil
}

// Swap gives new requests the settings of cfg, all at once. Requests in flight end with the settings that they began with,
// also on connections that stay open. An invalid cfg changes nothing. What cfg refers to must not change afterwards. Pools,
// breakers, budgets and quotas that both settings refer to keep their state. Held body bytes stay counted, because they are
// memory of the process. [Gateway.Settled] tells when nothing uses the previous settings any more.
func (g *Gateway) Swap(cfg Config) error {
	s, err := newSettings(cfg, g.own)
	if err != nil {
		return err
	}
	g.replace(s)
	return nil
}

// secretOf makes the secret for the hashes of callers. It depends on the deployment's secret, through a Printer's hash, so
// that all nodes count under the same keys. The hashed id has a byte that no caller's id can have. Without a Printer it is
// own.
func secretOf(routes []Route, own [32]byte) [32]byte {
	for _, r := range routes {
		if r.Printer != nil {
			seed := r.Printer.Client("\x00whom quotas count")
			return sha256.Sum256(seed[:])
		}
	}
	return own
}
