package check

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// root is the repository, by a link: the go command looks only at files below the
// module when it decides whether a result of before still holds.
const root = "testdata/repository/"

func file(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// metric is a row of docs/metrics.md, which is made from the program.
type metric struct {
	kind   string
	labels []string
}

var metricRow = regexp.MustCompile("(?m)^\\| `(bezoar_\\w+)` \\| (counter|gauge|histogram) \\| [^|]*\\| ([^|]*)\\|")

// metrics are all series that there can be, by name.
func metrics(t *testing.T) map[string]metric {
	t.Helper()
	out := map[string]metric{
		"process_resident_memory_bytes": {kind: "gauge"}, "process_cpu_seconds_total": {kind: "counter"},
		"process_open_fds": {kind: "gauge"}, "go_goroutines": {kind: "gauge"}, // in every Go program
	}
	for _, m := range metricRow.FindAllStringSubmatch(string(file(t, "docs/metrics.md")), -1) {
		is := metric{m[2], strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' })}
		if is.kind != "histogram" {
			out[m[1]] = is
			continue
		}
		is.kind = "counter" // as each of its series
		out[m[1]+"_count"], out[m[1]+"_sum"] = is, is
		is.labels = append(slices.Clip(is.labels), "le")
		out[m[1]+"_bucket"] = is
	}
	if len(out) < 100 {
		t.Fatalf("docs/metrics.md has %d series", len(out))
	}
	return out
}

// selected are the names that an expression selects.
func selected(e parser.Expr) (names []string) {
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			names = append(names, s.Name)
		}
		return nil
	})
	return names
}

// checkExpression parses an expression and holds it against what there is.
func checkExpression(t *testing.T, where, text string, have map[string]metric) parser.Expr {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return nil
	}
	all := []string{"instance"}
	for _, name := range selected(expr) {
		m, ok := have[name]
		if !ok {
			t.Errorf("%s: there is no metric %s", where, name)
		}
		all = append(all, m.labels...)
	}
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			checkSelector(t, where, n, path, have[n.Name])
		case *parser.AggregateExpr:
			for _, l := range n.Grouping {
				if !slices.Contains(all, l) {
					t.Errorf("%s: no metric has the label %s", where, l)
				}
			}
		}
		return nil
	})
	return expr
}

func checkSelector(t *testing.T, where string, s *parser.VectorSelector, path []parser.Node, m metric) {
	t.Helper()
	for _, l := range s.LabelMatchers {
		if l.Name != model.MetricNameLabel && l.Name != "instance" && !slices.Contains(m.labels, l.Name) {
			t.Errorf("%s: %s has no label %s", where, s.Name, l.Name)
		}
	}
	grows := slices.ContainsFunc(path, func(n parser.Node) bool {
		c, ok := n.(*parser.Call)
		return ok && (c.Func.Name == "rate" || c.Func.Name == "increase")
	})
	if grows != (m.kind == "counter") {
		t.Errorf("%s: a counter wants rate or increase, and nothing else does: %s", where, s)
	}
}
