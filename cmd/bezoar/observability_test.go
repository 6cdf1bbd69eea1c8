package main

import (
	"strings"
	"testing"
)

// Every command of the guide to what can be seen is run, in order, and who asked
// for too much is found.
func TestObservabilityGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/observability.md")
	r.read(map[string][]string{
		"bezoar top":        {"by cost, the last ", "by refused, the last ", ": 10 in all", "greedy", `"value": 30`, `"names": "clear"`},
		"grep '^bezoar_req": {`route="/*",rule="rate"} 10`},
		"grep -E":           {`bezoar_pool_limit{fleet="files"} 50`, `bezoar_breaker_state{fleet="files",route="/*",state="closed"} 1`, `bezoar_fleet_healthy{fleet="files"} `, `bezoar_quota_refused_total{quota="/* each"} 10`},
	})
	lines := strings.Split(r.printed, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "by refused") && !strings.Contains(lines[i+2], "100.0 %       10 ") {
			t.Errorf("the first by refusals is %q", lines[i+2])
		}
	}
}
