package adminapi

import (
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar"
)

// HeldText returns a short description of the work that a verdict is about, such as
// "variant of GET /x" or "GET /x with header X-Theme: neon". For a shape, an endpoint or a
// caller it adds the effect.
func HeldText(v *bezoar.Verdict) string {
	name := v.Sample
	if name == "" {
		name = v.Fingerprint.Short() + "…"
	}
	switch v.Scope {
	case bezoar.ScopeVariant:
		return "variant of " + name
	case bezoar.ScopeFeature:
		if v.State == bezoar.Laned {
			return "requests" + having(v) + laneOnly(v)
		}
		return name + having(v)
	case bezoar.ScopeShape:
		return held("shape", v)
	case bezoar.ScopeEndpoint:
		return held("new shapes of endpoint", v)
	case bezoar.ScopeClient:
		return held("caller", v)
	case bezoar.ScopeWork:
	}
	return name
}

// having describes the feature that a verdict is about.
func having(v *bezoar.Verdict) string {
	var parts []string
	if len(v.Features) > 0 {
		parts = append(parts, "with "+strings.Join(v.Features, " and "))
	}
	if !v.Client.IsZero() {
		parts = append(parts, "from caller "+v.Client.Short()+"…")
	}
	if len(parts) == 0 {
		return " with something that killers have in common"
	}
	return " " + strings.Join(parts, " ")
}

func held(what string, v *bezoar.Verdict) string {
	text := fmt.Sprintf("%s %s…", what, v.Fingerprint.Short())
	if v.Sample != "" {
		text += ", such as " + v.Sample
	}
	return text + laneOnly(v)
}

// laneOnly describes the effect of a verdict that sends requests to the lane.
func laneOnly(v *bezoar.Verdict) string {
	switch {
	case v.State != bezoar.Laned:
		return ""
	case v.Pace > 0:
		return fmt.Sprintf(": lane only, %.3g/s", v.Pace)
	}
	return ": lane only"
}

// Covers returns a short description of how much a verdict covers.
func Covers(v *bezoar.Verdict) string {
	switch v.Scope {
	case bezoar.ScopeVariant:
		return "only this variant"
	case bezoar.ScopeFeature:
		if v.State == bezoar.Laned {
			return "all requests" + having(v)
		}
		return "this request" + having(v)
	case bezoar.ScopeShape:
		return "the whole shape"
	case bezoar.ScopeEndpoint:
		return "the new shapes of the endpoint"
	case bezoar.ScopeClient:
		return "the whole caller"
	case bezoar.ScopeWork:
		return "every variant of this request"
	}
	return ""
}

// WithoutText describes what a redrive omits, such as "Cookie and Authorization, which are
// redacted".
func WithoutText(missing []string) string {
	parts := make([]string, len(missing))
	for i, name := range missing {
		if parts[i] = name; name == "target" {
			parts[i] = "parameters of the target"
		}
	}
	if n := len(parts); n > 1 {
		parts = append(parts[:n-2], parts[n-2]+" and "+parts[n-1])
	}
	verb := "are"
	if len(missing) == 1 && missing[0] != "target" {
		verb = "is"
	}
	return strings.Join(parts, ", ") + ", which " + verb + " redacted"
}
