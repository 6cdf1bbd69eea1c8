package app_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// searcher sends searches to a node.
type searcher struct{ *node }

func (s searcher) search(body string) answer { return s.searchFor(body, "") }

// searchFor searches, and waits for timeout at most if it is given.
func (s searcher) searchFor(body, timeout string) answer {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/es/shop/_search", strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return answer{}
	}
	req.Header.Set("Content-Type", "application/json")
	if timeout != "" {
		req.Header.Set("X-Request-Timeout", timeout)
	}
	res, err := s.http.Do(req)
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

// crowd searches well all the time, in other ways than the dashboard that kills;
// each of them has to be answered.
func (s searcher) crowd(callers int) (end func() int64) {
	var wg sync.WaitGroup
	var sent atomic.Int64
	done := make(chan struct{})
	for i := range callers {
		wg.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-done:
					return
				default:
				}
				body := fmt.Sprintf(`{"query":{"match":{"title":"stone %d"}},"size":20}`, k)
				if (i+k)%2 == 0 {
					body = fmt.Sprintf(`{"size":0,"query":{"range":{"at":{"gte":"now-%dh"}}},"aggs":{"hosts":{"terms":{"field":"host"}}}}`, k%24+1)
				}
				sent.Add(1)
				if a := s.search(body); a.status != http.StatusOK {
					s.t.Errorf("%s: %d %s", body, a.status, a.body)
				}
			}
		})
	}
	stop := sync.OnceFunc(func() { close(done); wg.Wait() })
	s.t.Cleanup(stop)
	return func() int64 { stop(); return sent.Load() }
}

// killer is a panel of one dashboard. Its values are others each time, and of
// other kinds and lengths, so that as text nothing is alike.
func killer(i int) string {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i)
	var ids []string
	for k := range 1 + i%7 {
		ids = append(ids, fmt.Sprintf(`"user-%d-%s"`, i*100+k, strings.Repeat("x", i%9)))
	}
	value := []string{"crash", "crash of 17 things", "https://crash.example/?a=b", "crash(a|b)*", "7f3a crash 2026-11-28"}[i%5]
	return fmt.Sprintf(`{"size":0,"query":{"bool":{"filter":[{"range":{"at":{"gte":%q,"lte":%q}}},{"terms":{"user.id":[%s]}},{"term":{"note":%q}}]}},
"aggs":{"per_user":{"terms":{"field":"user.id","size":%d}}}}`,
		from.Format(time.RFC3339), from.Add(time.Duration(20+i%5)*time.Hour).Format("2006-01-02"), strings.Join(ids, ","), value, 10+i%4)
}

func (s searcher) counted(name string) int {
	s.t.Helper()
	fs, err := s.admin.Fleets(s.t.Context())
	if err != nil || len(fs) != 1 {
		s.t.Fatalf("%v, %v", fs, err)
	}
	return int(fs[0].Counters[name])
}

// inFleet counts the deaths outside of the lane that queries are convicted of.
func (s searcher) inFleet() (n int) {
	s.t.Helper()
	all, err := s.admin.Verdicts(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, v := range all {
		if v.Scope != bezoar.ScopeVariant || v.State != bezoar.Quarantined {
			continue
		}
		if v, err = s.admin.Verdict(s.t.Context(), v.ID); err != nil {
			s.t.Fatal(err)
		}
		for _, e := range v.Evidence {
			if !e.Lane {
				n++
			}
		}
	}
	return n
}

func (s searcher) shapes() (held []bezoar.Verdict, convicts int) {
	s.t.Helper()
	all, err := s.admin.Verdicts(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, v := range all {
		switch {
		case v.Scope == bezoar.ScopeShape:
			held = append(held, v)
		case v.State == bezoar.Quarantined:
			convicts++
		}
	}
	return held, convicts
}

func (s searcher) guard() adminapi.Guard {
	s.t.Helper()
	all, err := s.admin.Guards(s.t.Context(), 0)
	if err != nil || len(all) != 1 {
		s.t.Fatalf("%+v, %v", all, err)
	}
	return all[0]
}

// A dashboard whose queries kill is one shape to the ledger, whatever they are
// about: after three convictions it runs in the lane only, ever more slowly,
// everything else is served, and a restart forgets nothing.
func TestAShapeOfQueriesThatKills(t *testing.T) {
	t.Parallel()
	for _, s := range stores(t, "sqlite") {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			settings := fmt.Sprintf(`listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: %q
state_dir: %q
fleets:
  search: {command: [%q], env: {%s: worker}, replicas: 4, health: {path: /healthz}, grace: 1s}
routes:
  - match: {path: /*}
    fleet: search
    quarantine: {after: 2, within: 10m, for: 10m, max: 1h}
    retry: {replay: all}
    guard: {query: elasticsearch, prefix: /es}
`, s.open(t, dir), dir, os.Getenv(workVar), roleVar)
			killsOneShape(t, settings)
		})
	}
}

func killsOneShape(t *testing.T, settings string) {
	n := searcher{spawn(t, settings)}
	n.until("it serves", func() bool { return n.search(`{"query":{"match":{"title":"first"}}}`).status == 200 })
	end := n.crowd(3)
	i := 0
	n.until("the shape is held", func() bool {
		n.search(killer(i))
		i++
		held, _ := n.shapes()
		return len(held) > 0
	})
	held, convicts := n.shapes()
	if len(held) != 1 || convicts < 3 || convicts > 5 || i > 8 {
		t.Errorf("after %d queries %d are convicted, and held are %+v", i, convicts, held)
	}
	shape := held[0].Fingerprint

	// What follows dies in the lane only, at a pace that falls with each death. Who
	// does not wait so long is refused.
	fleet, died := n.inFleet(), n.counted("deaths")
	var hasty sync.WaitGroup
	for range 10 {
		q := killer(i)
		hasty.Go(func() {
			if a := n.searchFor(q, "3s"); a.status != http.StatusServiceUnavailable && a.status != http.StatusGatewayTimeout {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
		i++
	}
	hasty.Wait()
	if more := n.counted("deaths") - died; more > 3 || n.inFleet() != fleet {
		t.Errorf("%d more workers died, and in the fleet %d instead of %d", more, n.inFleet(), fleet)
	}
	if sent := end(); sent < 50 {
		t.Errorf("only %d good queries were sent", sent)
	}
	n.leads(shape)
	n.stop()

	n = searcher{spawn(t, settings)}
	n.until("it serves again", func() bool { return n.search(`{"query":{"match":{"title":"first"}}}`).status == 200 })
	if held, _ := n.shapes(); len(held) != 1 || held[0].Fingerprint != shape || held[0].State != bezoar.Laned {
		t.Errorf("after a restart %+v", held)
	}
	if a := n.searchFor(killer(i), "3s"); a.status == http.StatusOK || n.inFleet() != fleet {
		t.Errorf("after a restart: %d %s, and %d deaths in the fleet instead of %d", a.status, a.body, n.inFleet(), fleet)
	}
	n.leads(shape)
}

// leads wants that the guard's row and the ledger's lead to one another, and that
// what was set aside shows the same shape.
func (s searcher) leads(shape bezoar.Fingerprint) {
	s.t.Helper()
	var row *adminapi.GuardShape
	for _, r := range s.guard().Shapes {
		if r.Fingerprint == shape {
			row = &r
		}
	}
	if row == nil || !strings.HasPrefix(shape.String(), row.Shape) || row.State != bezoar.Laned || row.Verdict == "" {
		s.t.Fatalf("%+v", row)
	}
	v, err := s.admin.Verdict(s.t.Context(), row.Verdict)
	if err != nil || v.Scope != bezoar.ScopeShape || v.Fingerprint != shape {
		s.t.Errorf("%+v, %v", v, err)
	}
	all, err := s.admin.Letters(s.t.Context(), adminapi.LetterQuery{})
	if err != nil || len(all) == 0 {
		s.t.Fatalf("%d letters, %v", len(all), err)
	}
	for _, l := range all {
		if l.Shape != shape {
			s.t.Errorf("a dead letter has the shape %v", l.Shape)
		}
	}
}
