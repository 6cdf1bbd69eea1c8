package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Warnings returns one sentence for each setting that works but is probably a mistake.
func (c Config) Warnings() []string {
	var out []string
	if len(c.Routes) == 0 && (len(c.Fleets) > 0 || c.SQS == "") {
		out = append(out, "there are no routes: no requests are served")
	}
	for _, name := range sortedKeys(c.Fleets) {
		f := c.Fleets[name]
		if !slices.ContainsFunc(c.Routes, func(r Route) bool { return r.Fleet == name }) {
			out = append(out, fmt.Sprintf("fleets.%s: no route leads to it", name))
		}
		if max(f.Replicas, len(f.Workers)) == 1 {
			out = append(out, fmt.Sprintf("fleets.%s: with one worker there is no lane to run suspects in", name))
		}
		out = append(out, f.shellWarnings("fleets."+name)...)
	}
	return append(out, c.contradictions()...)
}

// shellWarnings finds text that only a shell would expand.
func (f Fleet) shellWarnings(at string) []string {
	if len(f.Command) == 0 || slices.Contains([]string{"sh", "bash", "dash", "zsh", "env"}, filepath.Base(f.Command[0])) {
		return nil
	}
	var out []string
	for i, arg := range f.Command {
		if strings.Contains(arg, "$PORT") || strings.Contains(arg, "${PORT}") {
			out = append(out, fmt.Sprintf("%s.command[%d]: no shell reads %s; write {port} for the port", at, i, quoted(arg)))
		}
	}
	return out
}
