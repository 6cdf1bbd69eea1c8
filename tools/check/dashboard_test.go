package check

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type dashboard struct {
	Title, UID string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
	Panels []panel
}

type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ Expr, RefID string }
}

// expressions are all queries of the dashboard by where they are.
func (d *dashboard) expressions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, a := range d.Annotations.List {
		out["annotation "+a.Name] = a.Expr
	}
	for _, p := range d.Panels {
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, q := range p.Targets {
			out["panel "+p.Title+" "+q.RefID] = q.Expr
		}
	}
	return out
}

// checkPlaces looks for panels that are in each other's place.
func (d *dashboard) checkPlaces(t *testing.T) {
	t.Helper()
	ids, places := map[int]bool{}, map[string]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q: its number or place cannot be", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				at := fmt.Sprint(x, " ", y)
				if other, taken := places[at]; taken {
					t.Fatalf("panels %q and %q overlap", other, p.Title)
				}
				places[at] = p.Title
			}
		}
	}
}

var (
	variable = regexp.MustCompile(`\$(\w+)`)
	listed   = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)
)

// The dashboard can be read, and shows what there is.
func TestTheDashboardShowsWhatThereIs(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal(file(t, "deploy/grafana/bezoar.json"), &d); err != nil || d.Title == "" || d.UID == "" {
		t.Fatalf("%q %v", d.Title, err)
	}
	d.checkPlaces(t)
	have, variables := metrics(t), []string{"__rate_interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		if v.Type != "query" {
			continue
		}
		m := listed.FindStringSubmatch(v.Definition)
		if m == nil {
			t.Errorf("variable %s: %s", v.Name, v.Definition)
		} else if is, ok := have[m[1]]; !ok || m[2] != "instance" && !slices.Contains(is.labels, m[2]) {
			t.Errorf("variable %s: there is no %s of %s", v.Name, m[2], m[1])
		}
	}
	all := d.expressions(t)
	for where, text := range all {
		for _, v := range variable.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(variables, v[1]) {
				t.Errorf("%s: there is no variable %s", where, v[1])
			}
		}
		text = strings.ReplaceAll(text, "$__rate_interval", "5m")
		checkExpression(t, where, variable.ReplaceAllString(text, "x"), have)
	}
	if len(all) < 40 {
		t.Errorf("only %d expressions were looked at", len(all))
	}
}
