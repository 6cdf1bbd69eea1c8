package cli

import (
	"fmt"
	"os"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/named"
)

// namedFaults checks the files that the settings in a file name, apart from those of guards.
func namedFaults(file string, cfg *config.Config) []config.Fault {
	found := named.Faults(cfg, nil)
	text, _ := os.ReadFile(file) // it has been read before; without it the faults have no lines
	config.Place(file, text, found)
	return found
}

// guardFileFaults checks the limits and hints of the guards of routes.
func guardFileFaults(cfg *config.Config) []config.Fault {
	var out []config.Fault
	for i, r := range cfg.Routes {
		g := r.Guard
		if g == nil {
			continue
		}
		at := fmt.Sprintf("routes[%d].guard.", i)
		add := func(key, file string, err error) {
			if err != nil {
				out = append(out, config.Fault{File: file, Path: at + key, Problem: err.Error(), Fix: "correct it; a path is from where Bezoar is started"})
			}
		}
		if g.Limits != "" {
			text, err := os.ReadFile(g.Limits)
			if err == nil {
				_, err = guard.ParseLimits(g.Limits, text)
			}
			add("limits", g.Limits, err)
		}
		if g.Rules != "" {
			_, err := guard.ParseLimits("rules", []byte(g.Rules))
			add("rules", "", err)
		}
		if g.Hints != "" {
			text, err := os.ReadFile(g.Hints)
			if err == nil {
				_, _, err = guard.ParseHints(g.Hints, text)
			}
			add("hints", g.Hints, err)
		}
	}
	return out
}
