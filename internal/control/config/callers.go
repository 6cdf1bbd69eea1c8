package config

import (
	"fmt"
	"strings"
)

// Callers says how operators see callers: in the list of top callers, on the pages of
// guards and in the log of slow queries.
type Callers struct {
	Show   string           `yaml:"show"`   // How callers are written: clear, label or hash. Default: clear for addresses and claims of tokens, label for others.
	Labels map[string]Label `yaml:"labels"` // Names for people, by caller or by the hash that stands for it.
}

// Label is a name for a caller: up to 100 bytes on one line.
type Label string

// UnmarshalText reads a label. Its error does not name the caller, which may be a key.
func (l *Label) UnmarshalText(text []byte) error {
	if s := string(text); strings.TrimSpace(s) == "" || len(s) > maxLabel || hasControl(s) {
		return flawf("write a short name", "%s is not a label", quoted(s))
	}
	*l = Label(text)
	return nil
}

func (l Label) String() string { return string(l) }

// RouteCallers says the same for one route.
type RouteCallers struct {
	Show string `yaml:"show"` // As callers.show, for this route. Default: what callers.show says.
}

// Ways to show callers.
const (
	ShowClear = "clear" // unchanged
	ShowLabel = "label" // by a label, or by their first characters
	ShowHash  = "hash"  // by an irreversible hash
	ShowOff   = "off"   // not at all
)

const (
	maxLabels = 10_000
	maxLabel  = 100 // bytes

	maxCallerName = 512 // bytes
)

func (c *Config) checkCallers(k *checker) {
	show := func(at, value string) {
		if value != "" {
			k.add(at, choiceFlaw(value, []string{ShowClear, ShowLabel, ShowHash}))
		}
	}
	for i := range c.Routes {
		if of := c.Routes[i].Callers; of != nil {
			show(fmt.Sprintf("routes[%d].callers.show", i), of.Show)
		}
	}
	if c.Callers == nil {
		return
	}
	show("callers.show", c.Callers.Show)
	if n := len(c.Callers.Labels); n > maxLabels {
		k.addf("callers.labels", "name only the callers that you would contact", "has %d callers, more than %d", n, maxLabels)
	}
}

// ShowCallers returns how a route's callers are shown to operators.
func (c *Config) ShowCallers(r *Route) string {
	switch {
	case r.Callers != nil && r.Callers.Show != "":
		return r.Callers.Show
	case c.Callers != nil && c.Callers.Show != "":
		return c.Callers.Show
	case c.AccessLog != nil && (c.AccessLog.Caller == ShowClear || c.AccessLog.Caller == ShowOff):
		return c.AccessLog.Caller // readers of the log may see them in this form
	}
	for part := range strings.SplitSeq(r.Client, "+") {
		if part != "" && part != "ip" && !strings.HasPrefix(part, "jwt:") {
			return ShowLabel // the caller may be a key
		}
	}
	return ShowClear
}
