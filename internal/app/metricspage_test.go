package app_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/metrics"
	"github.com/bezoar-dev/bezoar/internal/test/golden"
)

// metric is one as it is described.
type metric struct{ labels, help string }

var descText = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: ("(?:[^"\\]|\\.)*"), unit: "", constLabels: \{\}, variableLabels: \{([^}]*)\}\}$`)

// described are the metrics that a Bezoar can show, by name.
func described(t *testing.T) map[string]metric {
	t.Helper()
	cfg := setup{Workers: []string{"http://127.0.0.1:1"}}.config()
	a, err := app.New(t.Context(), cfg, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := contextOf(t)
	cancel()
	defer func() { _ = a.Run(ctx) }() // which closes it
	return read(t, a.Described())
}

// ofWork are the metrics of bezoar work, and their types.
func ofWork(t *testing.T) (all map[string]metric, types map[string]string) {
	t.Helper()
	work := metrics.NewWork(func() float64 { return 0 })
	work.Ended("done", "deleted", 1, 1)
	descs := make(chan *prometheus.Desc, 100)
	work.Describe(descs)
	close(descs)
	registry := prometheus.NewRegistry()
	registry.MustRegister(work)
	families, err := registry.Gather()
	if err != nil || len(families) != len(descs) {
		t.Fatalf("%d of %d metrics are there: %v", len(families), len(descs), err)
	}
	types = map[string]string{}
	for _, f := range families {
		types[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	var list []*prometheus.Desc
	for d := range descs {
		list = append(list, d)
	}
	return read(t, list), types
}

func read(t *testing.T, descs []*prometheus.Desc) map[string]metric {
	t.Helper()
	out := map[string]metric{}
	for _, d := range descs {
		m := descText.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("a description that cannot be read: %s", d)
		}
		var help string
		if _, err := fmt.Sscanf(m[2], "%q", &help); err != nil {
			t.Fatal(err)
		}
		if _, ok := out[m[1]]; ok {
			t.Errorf("%s is described twice", m[1])
		}
		if !strings.HasSuffix(help, ".") {
			t.Errorf("the help of %s is %q", m[1], help)
		}
		out[m[1]] = metric{strings.Join(strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' }), ", "), help}
	}
	return out
}

// Only a name says in which unit a metric is.
func unit(name string) string {
	name = strings.TrimSuffix(name, "_total")
	for suffix, unit := range map[string]string{
		"_timestamp_seconds": "seconds since 1970", "_seconds": "seconds", "_bytes": "bytes", "_ratio": "ratio", "_cost_units": "cost units",
	} {
		if strings.HasSuffix(name, suffix) && (unit != "seconds" || !strings.HasSuffix(name, "_timestamp_seconds")) {
			return unit
		}
	}
	return ""
}

var (
	metricRow = regexp.MustCompile("^\\| `(bezoar_\\w+)` \\| (counter|gauge|histogram) \\| ([^|]*?) ?\\| ([^|]*?) ?\\| (.*) \\|$")
	// glossaryLink is the link of a word's first use, which the program does not print.
	glossaryLink = regexp.MustCompile(`\[([^\]]+)\]\(glossary\.md#[^)]+\)`)
)

const metricsPage = "../../docs/metrics.md"

// metricTypes are the types that the page gives.
func metricTypes(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if m := metricRow.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			types[m[1]] = m[2]
		}
	}
	return types
}

// row is the page's row of a metric. A description has no type: that of counters
// is in their names, of others was says what the page had. TestRequestsAreSeen
// compares types with what a running process answers.
func row(name string, m metric, was string) string {
	kind := cmp.Or(was, "gauge")
	if strings.HasSuffix(name, "_total") {
		kind = "counter"
	}
	cell := func(s string) string {
		if s == "" {
			return ""
		}
		return s + " "
	}
	return fmt.Sprintf("| `%s` | %s | %s| %s| %s |", name, kind, cell(unit(name)), cell(m.labels), m.help)
}

// The rows of the page of metrics are made from what the program describes. With
// -update changed ones are rewritten, those of metrics that are gone are removed,
// and new ones come after the one with the most similar name. Sections and what
// they say are written by hand.
func TestThePageOfMetricsIsWhatThereIs(t *testing.T) {
	have := described(t)
	work, types := ofWork(t)
	maps.Copy(have, work)
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(page), "\n")
	seen := map[string]int{}
	for i, line := range lines {
		m := metricRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		d, ok := have[m[1]]
		if _, twice := seen[m[1]]; !ok || twice {
			lines[i] = "\x00"
			continue
		}
		seen[m[1]] = i
		if want := row(m[1], d, cmp.Or(types[m[1]], m[2])); glossaryLink.ReplaceAllString(line, "$1") != want {
			lines[i] = want
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := seen[name]; !ok {
			after := mostSimilar(name, seen)
			lines[after] += "\n" + row(name, have[name], types[name])
		}
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "\x00" })
	golden.File(t, metricsPage, bytes.TrimLeft([]byte(strings.Join(lines, "\n")), "\n"))
}

// mostSimilar is the place of the name that begins as this one for longest.
func mostSimilar(name string, places map[string]int) (place int) {
	most := -1
	for _, other := range slices.Sorted(maps.Keys(places)) {
		n := 0
		for n < min(len(name), len(other)) && name[n] == other[n] {
			n++
		}
		if n >= most {
			most, place = n, places[other]
		}
	}
	return place
}
