package app_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// seen runs Bezoar before an Elasticsearch, with callers told apart by a header.
func seen(t *testing.T, access, guard string) *reloaded {
	t.Helper()
	e := newElastic(t)
	return follow(t, fmt.Sprintf(`listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: 'memory:'
%s
fleets: {search: {%s}}
routes:
  - {match: {path: /*}, fleet: search, client: "header:X-Api-Key", guard: {query: elasticsearch, %s}}
`, access, e.worker(), guard))
}

// searchAs searches as a caller that the route tells apart.
func (r *reloaded) searchAs(key, body string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url+"/shop/_search", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", key)
	res, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode
}

// A caller that does not name itself is called the same by the guard, by the list
// of top callers and in metrics, as the settings say: a key is shown only when
// they want that, and a label where they have one.
func TestTheGuardCallsCallersAsTopDoes(t *testing.T) {
	t.Parallel()
	for access, want := range map[string]string{
		"": "sk-…", "access_log: {caller: hash}": "sk-…", "access_log: {caller: clear}": "sk-secret", "callers: {show: clear}": "sk-secret",
		"callers: {show: hash, labels: {sk-secret: billing}}": "", "callers: {labels: {sk-secret: billing}}": "billing",
	} {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			r := seen(t, access, `rules: "rules: [{predictor: result_window, limit: 100}]"`)
			r.until("it is searched", func() bool { return r.searchAs("sk-secret", `{"size": 10}`) == http.StatusOK })
			var top adminapi.Top
			r.until("the caller is counted, which comes after the answer", func() bool {
				var err error
				if top, err = r.admin.Top(t.Context(), adminapi.TopQuery{}); err != nil {
					t.Error(err)
				}
				return len(top.Callers) == 1
			})
			name := top.Callers[0].Caller
			if !strings.HasPrefix(name, want) || strings.Contains(name, "secret") != (want == "sk-secret") || want == "" && len(name) != 32 {
				t.Errorf("top calls the caller %q, want %q", name, want)
			}
			if g := r.guard(); len(g.Callers) != 1 || g.Callers[0].Caller != name {
				t.Errorf("top calls the caller %q, the guard %+v", name, g.Callers)
			}
			if n := value(r.scrape()["bezoar_guard_caller_queries_total"], "caller", name, "verdict", "accept"); n < 1 {
				t.Errorf("metrics do not name %q", name)
			}
		})
	}
}

// What a guard does, what is wrong with its files, and what took long, is seen in
// metrics and in the log, which says nothing of the query's text.
func TestTheGuardIsSeen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "limits.yaml")
	const limits = "classes: {panels: {match: {opaque_id: ['grafana-*']}}}\n"
	put(t, file, limits+window(100, "reject"))
	r := seen(t, "", fmt.Sprintf("limits: %q, slow: 1ms", file))
	r.searches(10, http.StatusOK)
	const query = `{"size": 20, "query": {"term": {"who": "hunter2"}}}`
	r.until("a search takes longer than a millisecond", func() bool {
		r.searchFor(query, "/shop/_search", "grafana-7")
		return strings.Contains(r.log.String(), "slow query")
	})
	r.search(500, "/shop/_search", "\xffgrafana")
	for i := range guard.MaxLabels + 5 {
		r.search(10, "/shop/_search", fmt.Sprint("one-of-many-", i))
	}
	families := r.scrape()
	for _, tc := range []struct {
		name   string
		labels []string
		least  float64
	}{
		{"bezoar_guard_class_queries_total", []string{"class", "panels", "verdict", "accept"}, 1},
		{"bezoar_guard_class_cost_units_total", []string{"class", ""}, 10},
		{"bezoar_guard_caller_queries_total", []string{"caller", "grafana-7", "verdict", "accept"}, 1},
		{"bezoar_guard_caller_queries_total", []string{"caller", guard.Others}, 1},
		{"bezoar_guard_caller_cost_units_total", []string{"caller", "grafana-7"}, 1},
		{"bezoar_guard_judging_seconds", []string{"route", "/*"}, 20},
		{"bezoar_guard_slow_queries_total", []string{"route", "/*"}, 1},
	} {
		if got := value(families[tc.name], tc.labels...); got < tc.least {
			t.Errorf("%s%v is %v, want %v or more", tc.name, tc.labels, got, tc.least)
		}
	}
	if n := len(families["bezoar_guard_caller_cost_units_total"].GetMetric()); n != guard.MaxLabels+1 {
		t.Errorf("metrics name %d callers", n)
	}
	if got := value(families["bezoar_guard_broken_files"]); got != 0 {
		t.Errorf("%v files are broken", got)
	}
	put(t, file, "rules: [{predictor: result_widow}]\n")
	r.until("metrics have the broken file", func() bool { return value(r.scrape()["bezoar_guard_broken_files"], "route", "/*") == 1 })

	for line := range strings.Lines(r.log.String()) {
		if !strings.Contains(line, `msg="slow query"`) || !strings.Contains(line, "grafana-7") {
			continue
		}
		for _, want := range []string{"route=/*", "class=panels", "predictor=", "cost=1", "took=", "bytes=", "died=false", "request=", "lines_dropped=", `query="{\"size\": 20, \"query\": {\"term\": {\"who\": ?}}}"`} {
			if !strings.Contains(line, want) {
				t.Errorf("no %s in %s", want, line)
			}
		}
	}
	if shapes := fmt.Sprint(r.guard().Shapes); strings.Contains(r.log.String()+shapes, "hunter2") || !strings.Contains(shapes, `"who"`) {
		t.Errorf("the log has what is in a query, or shapes have no query: %s", shapes)
	}
}

// The text of slow queries is logged where the settings ask for it, and a reload
// changes what is slow.
func TestWhatIsSlowIsASetting(t *testing.T) {
	t.Parallel()
	e := newElastic(t)
	settings := func(slow string) string { return guardSettings(e.worker(), "", slow) }
	r := follow(t, settings("slow: 1h"))
	r.searches(10, http.StatusOK)
	const query = `{"size": 20, "query": {"term": {"who": "hunter2"}}}`
	r.searchFor(query, "/shop/_search", "ann")
	if strings.Contains(r.log.String(), "slow query") {
		t.Error("a search takes no hour")
	}
	if _, err := r.admin.PutSettings(t.Context(), adminapi.PutSettings{Text: []byte(settings("slow: 1ms, slow_text: 12B"))}); err != nil {
		t.Fatal(err)
	}
	r.until("the text is logged", func() bool {
		r.searchFor(query, "/shop/_search", "ann")
		return strings.Contains(r.log.String(), `text="{\"size\": 20, \""`) || strings.Contains(r.log.String(), `text="{\"size\": 20,"`)
	})
	if strings.Contains(r.log.String(), "hunter2") {
		t.Error("the log has more of the text than was asked for")
	}
}
