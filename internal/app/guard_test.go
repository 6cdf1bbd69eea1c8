package app_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// elastic answers like an Elasticsearch 8.
type elastic struct {
	*httptest.Server

	mu   sync.Mutex // guards last
	last string     // body of the last search
	hold chan struct{}
}

func newElastic(t *testing.T) *elastic {
	t.Helper()
	e := &elastic{hold: make(chan struct{})}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

// ServeHTTP answers searches, and what is asked for hints.
func (e *elastic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("X-Opaque-Id") == "bezoar-hints" && r.Header.Get("Authorization") != "ApiKey secret" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("X-Elastic-Product", "Elasticsearch")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/_cluster/health":
		fmt.Fprint(w, `{"status": "green"}`)
	case r.URL.Path == "/_cat/indices":
		fmt.Fprint(w, `[{"index": "shop", "status": "open", "docs.count": "9000000", "pri": "3"}]`)
	case strings.HasSuffix(r.URL.Path, "/_mapping"):
		fmt.Fprint(w, `{"shop": {"mappings": {"properties": {"visitor": {"type": "keyword"}}}}}`)
	case !strings.HasSuffix(r.URL.Path, "/_search"):
		fmt.Fprint(w, `{}`)
	default:
		e.mu.Lock()
		e.last = string(body)
		e.mu.Unlock()
		if r.URL.Query().Has("hold") {
			<-e.hold
		}
		text := `{"took": 3, "timed_out": false, "_shards": {"total": 3, "successful": 3}, "hits": {"total": {"value": 0}, "hits": []}}`
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			fmt.Fprint(z, text)
			return
		}
		fmt.Fprint(w, text)
	}
}

// guarding runs Bezoar before an Elasticsearch, whose route has a guard.
func guarding(t *testing.T, worker, fleet, guard string) *reloaded {
	t.Helper()
	return follow(t, guardSettings(worker, fleet, guard))
}

func guardSettings(worker, fleet, guard string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: 'memory:'
fleets:
  search: {%s%s}
routes:
  - {match: {path: /*}, fleet: search, breaker: on, guard: {query: elasticsearch, %s}}
`, worker, fleet, guard)
}

func (e *elastic) worker() string { return fmt.Sprintf("workers: [%q]", e.URL) }

// search asks for so many hits.
func (r *reloaded) search(size int, target, opaque string) answer {
	return r.searchFor(fmt.Sprintf(`{"size": %d, "query": {"term": {"colour": "red"}}}`, size), target, opaque)
}

func (r *reloaded) searchFor(body, target, opaque string) answer {
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url+target, strings.NewReader(body))
	if err != nil {
		r.t.Error(err)
		return answer{}
	}
	req.Header.Set("Content-Type", "application/json")
	if opaque != "" {
		req.Header.Set("X-Opaque-Id", opaque)
	}
	res, err := r.http.Do(req)
	if err != nil {
		return answer{body: err.Error()}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{body: err.Error()}
	}
	return answer{res.StatusCode, string(text), res.Header}
}

// searches wants that searches for so many hits are answered so, sooner or
// later.
func (r *reloaded) searches(size, status int) {
	r.t.Helper()
	r.until(fmt.Sprintf("a search for %d is answered %d", size, status), func() bool { return r.search(size, "/shop/_search", "").status == status })
}

func (r *reloaded) guard() adminapi.Guard {
	r.t.Helper()
	all, err := r.admin.Guards(r.t.Context(), 0)
	if err != nil || len(all) != 1 {
		r.t.Fatalf("%+v, %v", all, err)
	}
	return all[0]
}

// traffic searches for 500 hits all the time, each of which has to be answered
// or rejected by the guard.
func (r *reloaded) traffic(callers int) (stop func() (sent int64)) {
	var wg sync.WaitGroup
	var sent, bad atomic.Int64
	done := make(chan struct{})
	for range callers {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(2 * time.Millisecond):
				}
				a := r.search(500, "/shop/_search", "")
				sent.Add(1)
				rejected := a.status == http.StatusBadRequest && a.header.Get("X-Bezoar-Guard") == "reject"
				if a.status != http.StatusOK && !rejected && bad.Add(1) < 5 {
					r.t.Errorf("%d %v %s", a.status, a.header, a.body)
				}
			}
		})
	}
	end := sync.OnceFunc(func() { close(done); wg.Wait() })
	r.t.Cleanup(end)
	return func() int64 { end(); return sent.Load() }
}

// put replaces a file at once.
func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func window(limit int, action string) string {
	return fmt.Sprintf("rules:\n  - {predictor: result_window, limit: %d, action: %s}\n", limit, action)
}

// Limits change while queries come in, and none of those is lost.
func TestTheGuardFollowsItsFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "limits.yaml")
	put(t, file, window(1000, "reject"))
	e := newElastic(t)
	r := guarding(t, e.worker(), "", fmt.Sprintf("limits: %q", file))
	r.searches(500, 200)
	stop := r.traffic(3)

	put(t, file, window(100, "reject"))
	r.searches(500, 400)
	if g := r.guard(); g.Version != 2 || g.Total.Accepted == 0 {
		t.Errorf("%+v", g)
	}
	put(t, file, window(300, "cap"))
	r.searches(500, 200)
	a := r.search(400, "/shop/_search", "")
	if a.status != 200 || a.header.Get("X-Bezoar-Guard") != "cap" || a.header.Get("X-Bezoar-Guard-Caps") != "result_window 400->300" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}

	const broken = "rules:\n  - {predictor: result_widow, limit: 1}\n"
	said := func() int { return strings.Count(r.log.String(), "the old settings stay in force") }
	put(t, file, broken)
	r.until("it is said that the file is invalid", func() bool { return said() == 1 })
	if log := r.log.String(); !located(log[strings.Index(log, "the old settings stay"):]) || !strings.Contains(log, "result_widow") {
		t.Errorf("the log does not say where the fault is: %s", log)
	}
	r.hangUp <- struct{}{} // reads it again, although it has not changed
	r.until("the hang-up is answered", func() bool { return said() == 2 })
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r.until("it is said that the file is gone", func() bool { return strings.Contains(r.log.String(), "its old content stays in force") })
	if g := r.guard(); g.Version != 3 {
		t.Errorf("invalid limits have changed the version: %+v", g)
	}
	if a := r.search(400, "/shop/_search", ""); a.header.Get("X-Bezoar-Guard") != "cap" {
		t.Errorf("invalid limits have changed something: %d %v", a.status, a.header)
	}
	put(t, file, window(1000, "reject"))
	r.until("the file is read again", func() bool { return r.guard().Version == 4 })
	if sent := stop(); sent < 10 {
		t.Errorf("only %d queries were sent", sent)
	}
}

// Rules in the settings change with them, and go back with them.
func TestTheGuardsRulesAreSettings(t *testing.T) {
	t.Parallel()
	e := newElastic(t)
	text := func(limit int, more string) string {
		return guardSettings(e.worker(), "", fmt.Sprintf("rules: %q%s", window(limit, "reject"), more))
	}
	r := follow(t, text(1000, ""))
	r.searches(500, 200)
	stop := r.traffic(3)
	ctx := t.Context()
	before := r.guard()
	in, err := r.admin.PutSettings(ctx, adminapi.PutSettings{Text: []byte(text(100, ""))})
	if err != nil || in.Error != "" {
		t.Fatalf("%+v, %v", in, err)
	}
	if a := r.search(500, "/shop/_search", ""); a.status != 400 {
		t.Errorf("after the settings were put: %d %s", a.status, a.body)
	}
	if g := r.guard(); g.Version != before.Version+1 || g.Total.Checked < before.Total.Checked {
		t.Errorf("%+v, before %+v", g, before)
	}
	// Settings that cannot serve change nothing, neither the rules that are right.
	_, err = r.admin.PutSettings(ctx, adminapi.PutSettings{Text: []byte(text(700, ", hints: /none/here"))})
	if err == nil && r.live().Status().Error == "" {
		t.Error("hints that are not there were read")
	}
	if a := r.search(500, "/shop/_search", ""); a.status != 400 {
		t.Errorf("after settings that cannot serve: %d %s", a.status, a.body)
	}
	if _, err := r.admin.Rollback(ctx, in.Before); err != nil {
		t.Fatal(err)
	}
	if a := r.search(500, "/shop/_search", ""); a.status != 200 {
		t.Errorf("after the rollback: %d %s", a.status, a.body)
	}
	// An operator's dial holds for a while, and ends by itself.
	o, err := r.admin.SetOverride(ctx, adminapi.SetOverride{What: live.Guard, Route: "/*", Factor: 0.1, For: adminapi.Duration(5 * time.Second), Reason: "yellow"})
	if err != nil {
		t.Fatal(err)
	}
	if g := r.guard(); g.Dial != 0.1 && time.Now().Before(o.Until) {
		t.Errorf("the dial is %v", g.Dial)
	}
	if a := r.search(500, "/shop/_search", ""); a.status != 400 && time.Now().Before(o.Until) {
		t.Errorf("beyond a tenth of the limit: %d %s", a.status, a.body)
	}
	r.until("the dial is back", func() bool { return r.guard().Dial == 1 })
	if a := r.search(500, "/shop/_search", ""); a.status != 200 || time.Now().Before(o.Until) {
		t.Errorf("after the override: %d %s", a.status, a.body)
	}
	stop()
}

// Classes have limits of their own, some only report, and everything is counted.
func TestTheGuardCounts(t *testing.T) {
	t.Parallel()
	limits := `
load_floor: 50%
classes:
  panels: {match: {opaque_id: ["grafana-*"]}}
  preview: {match: {opaque_id: ["preview"]}, report_only: true}
rules:
  - {predictor: result_window, limit: 1000}
  - {predictor: result_window, limit: 100, class: panels}
`
	e := newElastic(t)
	r := guarding(t, e.worker(), ", concurrency: {limit: 2, queue: 4}", fmt.Sprintf("rules: %q", limits))
	for _, tc := range []struct {
		size   int
		opaque string
		want   int
	}{
		{500, "shop", 200},
		{2000, "shop", 400},
		{500, "grafana-7", 400},
		{50, "grafana-7", 200},
		{3000, "preview", 200},
	} {
		if a := r.search(tc.size, "/shop/_search", tc.opaque); a.status != tc.want {
			t.Errorf("%+v: %d %s", tc, a.status, a.body)
		}
	}
	g := r.guard()
	if g.Route != "/*" || g.Fleet != "search" || g.Kind != "elasticsearch" || g.Total.Checked != 5 || g.Total.Accepted != 2 || g.Total.Rejected != 2 || g.Total.Reported != 1 {
		t.Errorf("%+v", g)
	}
	if len(g.Callers) != 3 || len(g.Findings) != 2 || g.Findings[0].Count != 2 || g.Findings[0].Action != "reject" || g.Findings[1].Predictor != "result_window" {
		t.Errorf("callers %+v, findings %+v", g.Callers, g.Findings)
	}
	families := r.scrape()
	for _, tc := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"bezoar_guard_queries_total", []string{"route", "/*", "verdict", "reject"}, 2},
		{"bezoar_guard_queries_total", nil, 5},
		{"bezoar_guard_findings_total", []string{"predictor", "result_window", "action", "report"}, 1},
		{"bezoar_guard_limits_version", nil, 1},
		{"bezoar_guard_dial", nil, 1},
		{"bezoar_guard_cost_units_total", nil, g.Total.Cost},
	} {
		if got := value(families[tc.name], tc.labels...); got != tc.want {
			t.Errorf("%s%v is %v, want %v", tc.name, tc.labels, got, tc.want)
		}
	}

	// Half of the pool is taken: of the limit, three quarters are left.
	held := make(chan answer, 1)
	go func() { held <- r.search(10, "/shop/_search?hold=1", "") }()
	r.until("the pool is pressed", func() bool { return r.guard().Load == 0.5 })
	if a := r.search(800, "/shop/_search", ""); a.status != 400 {
		t.Errorf("under pressure: %d %s", a.status, a.body)
	}
	close(e.hold)
	if a := <-held; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	r.until("the pressure is gone", func() bool { return r.guard().Load == 0 })
	if a := r.search(800, "/shop/_search", ""); a.status != 200 {
		t.Errorf("without pressure: %d %s", a.status, a.body)
	}
	if _, err := r.admin.ForceBreaker(t.Context(), "search /*", adminapi.ForceBreaker{State: breaker.Open, For: adminapi.Duration(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	r.until("an open breaker presses, too", func() bool { return r.guard().Load == 1 })
}

// A query that kills is known by what it was predicted, and by what it did.
func TestTheGuardSeesWhatKills(t *testing.T) {
	t.Parallel()
	worker := fmt.Sprintf("command: [%q], env: {%s: worker}, replicas: 2, health: {path: /healthz}", os.Getenv(workVar), roleVar)
	r := guarding(t, worker, "", "report_only: true")
	r.serving("search", 2)
	const pill = `{"size": 0, "aggs": {"crash": {"terms": {"field": "a", "size": 5000}, "aggs": {"b": {"terms": {"field": "c", "size": 5000}}}}}}`
	r.until("it is in quarantine", func() bool {
		r.searchFor(pill, "/shop/_search", "mallory")
		all, err := r.admin.Verdicts(t.Context(), "")
		return err == nil && len(all) == 1 && all[0].State == bezoar.Quarantined
	})
	g := r.guard()
	if len(g.Shapes) == 0 || g.Shapes[0].Deaths == 0 || g.Shapes[0].MaxCost == 0 || g.Shapes[0].Predictor == "" || g.Shapes[0].Observed == 0 {
		t.Errorf("%+v", g.Shapes)
	}
	if len(g.Callers) != 1 || g.Callers[0].Caller != "mallory" || g.Callers[0].Worst != g.Shapes[0].Shape {
		t.Errorf("%+v", g.Callers)
	}
}

// What the backend says of its data makes a query costly that was not.
func TestTheGuardAsksForHints(t *testing.T) {
	t.Setenv("APP_TEST_ES_KEY", "ApiKey secret")
	e := newElastic(t)
	poll := fmt.Sprintf(", poll: {url: %q, authorization_env: APP_TEST_ES_KEY, every: 10m}", e.URL)
	text := func(more string) string {
		return guardSettings(e.worker(), "", "report_only: false, rules: \"rules: [{predictor: shards, limit: 2, action: reject}]\""+more)
	}
	r := follow(t, text(""))
	visitors := func() answer {
		return r.searchFor(`{"size": 0, "query": {"match_all": {}}, "aggs": {"who": {"terms": {"field": "visitor", "size": 10}}}}`, "/shop/_search", "")
	}
	if a := visitors(); a.status != 200 {
		t.Fatalf("without hints: %d %s", a.status, a.body)
	}
	if g := r.guard(); g.Poll != nil || g.HintsAge != 0 {
		t.Errorf("%+v", g)
	}
	r.reload(text(poll))
	r.until("the shards are known, and held against the limits", func() bool { return visitors().status == 400 })
	a := visitors()
	if !strings.Contains(a.body, "shards") {
		t.Errorf("%s", a.body)
	}
	g := r.guard()
	if g.Poll == nil || g.Poll.Indices != 1 || g.Poll.Fields != 1 || g.Poll.Error != "" || g.HintsAge == 0 {
		t.Errorf("%+v %+v", g, g.Poll)
	}
	if f := r.scrape(); value(f["bezoar_guard_polled_indices"]) != 1 || value(f["bezoar_guard_hints_age_seconds"]) == 0 {
		t.Errorf("%v", f["bezoar_guard_hints_age_seconds"])
	}
	r.reload(text("")) // what was asked is not believed for ever
	if a := visitors(); a.status != 200 {
		t.Errorf("after the poll was taken away: %d %s", a.status, a.body)
	}
	if g := r.guard(); g.Poll != nil {
		t.Errorf("%+v", g.Poll)
	}
	if strings.Contains(r.log.String(), "secret") {
		t.Error("the log has a password")
	}
}
