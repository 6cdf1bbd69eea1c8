package main

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/config"
)

var topKey = regexp.MustCompile(`(?m)^([a-z_]+):`)

// Settings that guides show are valid as far as they go: what a piece names
// without defining it, such as a fleet, may stand elsewhere.
func TestSettingsInGuidesAreValid(t *testing.T) {
	known := map[string]bool{}
	for f := range reflect.TypeFor[config.Config]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		known[name] = true
	}
	n := 0
	for name := range pages(t) {
	next:
		for _, b := range blocks(t, "../../"+name) {
			keys := topKey.FindAllStringSubmatch(b.text, -1)
			if b.lang != "yaml" || len(keys) == 0 {
				continue
			}
			for _, k := range keys {
				if !known[k[1]] {
					continue next // a flow, limits of queries, a file of somebody else
				}
			}
			n++
			_, err := config.Parse(name, []byte(b.text))
			var faults *config.Faults
			if !errors.As(err, &faults) {
				if err != nil {
					t.Errorf("%s:%d: %v", name, b.line, err)
				}
				continue
			}
			for _, f := range faults.List {
				if !strings.HasPrefix(f.Problem, "there is no fleet ") {
					t.Errorf("%s:%d: %s", name, b.line, f)
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d pieces of settings were found", n)
	}
}
