package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v4"
)

// expression is a query of a file for other programs, and where it is.
type expression struct{ where, text string }

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	name     = regexp.MustCompile(`\b(?:bezoar|process|go)_[a-z0-9_]+`)
	selector = regexp.MustCompile(`\b((?:bezoar|process|go)_[a-z0-9_]+)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`(\w+)(?:=~|!=|!~|=)`)
	by       = regexp.MustCompile(`\bby \(([^)]*)\)`)
	function = regexp.MustCompile(`\b([a-z_]+)(?: by \([^)]*\) )?\(`)
)

// check looks at an expression: Prometheus itself is not here, so these are the
// faults that people make when names change.
func (e expression) check(t *testing.T, metrics map[string]metric) {
	t.Helper()
	bare := quoted.ReplaceAllString(e.text, `""`)
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(bare, pair[:1]) != strings.Count(bare, pair[1:]) {
			t.Errorf("%s: %s are not in pairs: %s", e.where, pair, e.text)
		}
	}
	labels := map[string]bool{"instance": true, "le": true}
	for _, n := range name.FindAllString(bare, -1) {
		m, ok := known(metrics, n)
		if !ok {
			t.Errorf("%s: there is no metric %s", e.where, n)
		}
		for l := range strings.SplitSeq(m.labels, ", ") {
			labels[l] = true
		}
		if strings.HasSuffix(n, "_total") != regexp.MustCompile(`\b(?:rate|increase)\(`+n+`\b`).MatchString(e.text) && strings.HasPrefix(n, "bezoar_") && !strings.HasSuffix(n, "_bucket") && !strings.HasSuffix(n, "_count") {
			t.Errorf("%s: a counter wants rate or increase, and nothing else does: %s", e.where, e.text)
		}
	}
	for _, s := range selector.FindAllStringSubmatch(e.text, -1) {
		m, _ := known(metrics, s[1])
		for _, l := range matcher.FindAllStringSubmatch(quoted.ReplaceAllString(s[2], ""), -1) {
			if l[1] != "instance" && !slices.Contains(strings.Split(m.labels, ", "), l[1]) {
				t.Errorf("%s: %s has no label %s", e.where, s[1], l[1])
			}
		}
	}
	for _, s := range by.FindAllStringSubmatch(bare, -1) {
		for l := range strings.SplitSeq(s[1], ", ") {
			if !labels[l] {
				t.Errorf("%s: no metric of %s has the label %s", e.where, e.text, l)
			}
		}
	}
	functions := []string{"sum", "max", "min", "rate", "increase", "delta", "changes", "absent", "histogram_quantile", "by", "and"}
	for _, f := range function.FindAllStringSubmatch(bare, -1) {
		if !slices.Contains(functions, f[1]) {
			t.Errorf("%s: what is %s?", e.where, f[1])
		}
	}
}

// known finds a metric, also by the name of a histogram's series.
func known(metrics map[string]metric, n string) (metric, bool) {
	switch n {
	case "process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds", "go_goroutines": // in every Go program
		return metric{}, true
	}
	m, ok := metrics[n]
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if base, is := strings.CutSuffix(n, suffix); is && !ok {
			m, ok = metrics[base]
		}
	}
	return m, ok
}

// The dashboard can be read, and shows what there is.
func TestTheDashboardShowsWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("../../deploy/grafana/bezoar.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Title, UID string
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
		Annotations struct {
			List []struct{ Name, Expr string }
		}
		Panels []struct {
			ID          int
			Type, Title string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil || d.Title == "" || d.UID == "" {
		t.Fatalf("%q %v", d.Title, err)
	}
	var all []expression
	variables := []string{"__rate_interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		if v.Type == "query" {
			all = append(all, expression{"variable " + v.Name, strings.TrimSuffix(strings.TrimPrefix(strings.Split(v.Definition, ",")[0], "label_values("), ")")})
		}
	}
	for _, a := range d.Annotations.List {
		all = append(all, expression{"annotation " + a.Name, a.Expr})
	}
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
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, q := range p.Targets {
			all = append(all, expression{"panel " + p.Title, q.Expr})
		}
	}
	metrics := described(t)
	variable := regexp.MustCompile(`\$(\w+)`)
	for _, e := range all {
		for _, v := range variable.FindAllStringSubmatch(e.text, -1) {
			if !slices.Contains(variables, v[1]) {
				t.Errorf("%s: there is no variable %s", e.where, v[1])
			}
		}
		if strings.HasPrefix(e.where, "variable ") {
			e.text = regexp.MustCompile(`bezoar_\w+_total`).ReplaceAllString(e.text, "rate($0)")
		}
		e.check(t, metrics)
	}
	if len(all) < 40 {
		t.Errorf("only %d expressions were looked at", len(all))
	}
}

// Every alert asks for what there is, and says what to do.
func TestAlertsAskForWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics, n := described(t), 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			n++
			expression{"alert " + r.Alert, r.Expr}.check(t, metrics)
			if s := r.Labels["severity"]; s != "page" && s != "ticket" || r.For == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("alert %s: %v %v for %q", r.Alert, r.Labels, r.Annotations, r.For)
			}
			anchor, ok := strings.CutPrefix(r.Annotations["runbook"], "docs/observability.md#")
			title := regexp.MustCompile(`(?mi)^### ` + strings.ReplaceAll(anchor, "-", " ") + `$`)
			if !ok || !title.Match(guide) {
				t.Errorf("alert %s: docs/observability.md does not say what to do at %q", r.Alert, anchor)
			}
			for _, l := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(fmt.Sprint(r.Annotations), -1) {
				if !strings.Contains(r.Expr, l[1]) {
					t.Errorf("alert %s speaks of the label %s, which its expression takes away", r.Alert, l[1])
				}
			}
		}
	}
	if n < 15 {
		t.Errorf("there are %d alerts", n)
	}
}
