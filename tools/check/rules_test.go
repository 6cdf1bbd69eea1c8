package check

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
)

const rulesFile = "deploy/prometheus/alerts.yaml"

func rules(t *testing.T) (out []rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.ParseFile(root+rulesFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		t.FailNow()
	}
	for _, g := range groups.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) < 15 {
		t.Fatalf("there are %d alerts", len(out))
	}
	return out
}

// Every alert asks for what there is, and says what to do.
func TestAlertsAskForWhatThereIs(t *testing.T) {
	have, guide := metrics(t), file(t, "docs/observability.md")
	for _, r := range rules(t) {
		checkExpression(t, "alert "+r.Alert, r.Expr, have)
		if s := r.Labels["severity"]; s != "page" && s != "ticket" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("alert %s: %v %v", r.Alert, r.Labels, r.Annotations)
		}
		anchor, ok := strings.CutPrefix(r.Annotations["runbook"], "docs/observability.md#")
		title := regexp.MustCompile(`(?mi)^### ` + strings.ReplaceAll(anchor, "-", " ") + `$`)
		if !ok || !title.Match(guide) {
			t.Errorf("alert %s: docs/observability.md does not say what to do at %q", r.Alert, anchor)
		}
	}
}

var usedLabel = regexp.MustCompile(`\$labels\.(\w+)`)

// Prometheus' engine says of a healthy fleet that no alert fires, and of an ill
// one that every alert does, with the labels that its text uses.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 100_000)
	at := time.Unix(0, 0).Add(65 * time.Minute)
	healthy := promqltest.LoadedStorage(t, string(file(t, "tools/check/testdata/healthy.txt")))
	ill := promqltest.LoadedStorage(t, string(file(t, "tools/check/testdata/ill.txt")))
	for _, r := range rules(t) {
		if got := ask(t, engine, healthy, r.Expr, at); len(got) != 0 {
			t.Errorf("alert %s fires for a healthy fleet: %v", r.Alert, got)
		}
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range selected(expr) {
			if len(ask(t, engine, healthy, name, at)) == 0 {
				t.Errorf("alert %s: the healthy fleet has no %s, so that its silence says nothing", r.Alert, name)
			}
		}
		fired := ask(t, engine, ill, r.Expr, at)
		if len(fired) == 0 {
			t.Errorf("alert %s does not fire for an ill fleet", r.Alert)
			continue
		}
		for _, text := range []string{r.Annotations["summary"], r.Annotations["description"]} {
			for _, l := range usedLabel.FindAllStringSubmatch(text, -1) {
				if slices.ContainsFunc(fired, func(s promql.Sample) bool { return !s.Metric.Has(l[1]) }) {
					t.Errorf("alert %s speaks of the label %s, which its expression takes away", r.Alert, l[1])
				}
			}
		}
	}
}

func ask(t *testing.T, engine *promql.Engine, from storage.Queryable, expr string, at time.Time) promql.Vector {
	t.Helper()
	q, err := engine.NewInstantQuery(t.Context(), from, nil, expr, at)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	vector, err := q.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(vector)
}
