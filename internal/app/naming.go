package app

import (
	"net/netip"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/metrics"
)

// shownStart is how many characters of a caller without a label are shown, at most a third of it. shownHash is how many
// characters of its hash follow, to tell it from callers with the same beginning.
const (
	shownStart = 6
	shownHash  = 6
)

// naming returns how operators see the callers of a route, as the settings say.
func (s *observability) naming(cfg *config.Config, r *config.Route) func(caller string) string {
	labels := labelsOf(cfg)
	labelled := func(caller string) string {
		if l := labels[caller]; l != "" || len(labels) == 0 {
			return string(l)
		}
		return string(labels[s.hash(caller)])
	}
	switch cfg.ShowCallers(r) {
	case config.ShowHash:
		return s.hash
	case config.ShowOff:
		return func(string) string { return "(not listed)" }
	case config.ShowClear:
		return func(caller string) string {
			if l := labelled(caller); l != "" {
				return l
			}
			return caller
		}
	}
	return func(caller string) string {
		if l := labelled(caller); l != "" {
			return l
		}
		if isAddress(caller) { // a caller without a key
			return caller
		}
		return s.begins(caller)
	}
}

func labelsOf(cfg *config.Config) map[string]config.Label {
	if cfg.Callers == nil {
		return nil
	}
	return cfg.Callers.Labels
}

// shown returns how callers are shown in lists, by route.
func (s *observability) shown(cfg *config.Config) map[string]metrics.Shown {
	all := make(map[string]metrics.Shown, len(cfg.Routes))
	for i := range cfg.Routes {
		r := &cfg.Routes[i]
		if how := cfg.ShowCallers(r); how != config.ShowOff {
			all[routeName(i, *r)] = metrics.Shown{How: how, As: s.naming(cfg, r)}
		}
	}
	return all
}

// begins returns the beginning of a caller, and a part of its hash.
func (s *observability) begins(caller string) string {
	n := min(shownStart, len(caller)/3)
	return strings.ToValidUTF8(caller[:n], "") + "…" + s.hash(caller)[:shownHash]
}

func isAddress(caller string) bool {
	if _, err := netip.ParseAddr(caller); err == nil {
		return true
	}
	_, err := netip.ParsePrefix(caller)
	return err == nil
}
