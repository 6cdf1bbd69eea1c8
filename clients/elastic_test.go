package clients

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guardLimits are those that the client finds, changes and puts back.
const guardLimits = `classes:
  panels: {match: {opaque_id: ["grafana-*"]}}
rules:
  - {predictor: result_window, limit: 1000}
  - {predictor: result_window, limit: 50, action: cap, class: panels}
`

var gatewayLine = regexp.MustCompile(`(?i)\bserving on (http://[0-9.:]+).*\n`)

// The official client of Elasticsearch meets a guarded route.
func TestElasticsearchClient(t *testing.T) {
	if os.Getenv("BEZOAR_SOAK") == "" {
		t.Skip("not without BEZOAR_SOAK: the first build of the client takes minutes")
	}
	into := t.TempDir()
	b, program := built{bezoar: filepath.Join(into, "bezoar")}, filepath.Join(into, "elastic")
	goBuild(t, "..", "./cmd/bezoar", b.bezoar, "CGO_ENABLED=0")
	goBuild(t, "elastic", ".", program)
	backend := httptest.NewServer(http.HandlerFunc(elasticsearch))
	defer backend.Close()
	limits, settings := filepath.Join(into, "limits.yaml"), filepath.Join(into, "bezoar.yaml")
	text := fmt.Sprintf("store: 'memory:'\nfleets:\n  search: {workers: [%q]}\nroutes:\n  - {match: {path: /*}, fleet: search, guard: {query: elasticsearch, limits: %q}}\n", backend.URL, limits)
	for file, content := range map[string]string{limits: guardLimits, settings: text} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	on := endpoint{url: serveAt(t, b, gatewayLine, nil, "serve", "-c", settings, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")}
	client{
		name: "go-elasticsearch 9.5.2", checks: 6, passed: regexp.MustCompile(`(?m)^ok   `),
		command: func(*testing.T) *exec.Cmd {
			cmd := exec.Command(program)
			cmd.Env = []string{"CLIENTS_LIMITS=" + limits}
			return cmd
		},
	}.drive(t, on)
}

// elasticsearch answers like one, as far as the client asks: a search has as
// many hits as it asked for at most.
func elasticsearch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Elastic-Product", "Elasticsearch")
	w.Header().Set("Content-Type", "application/vnd.elasticsearch+json;compatible-with=9")
	switch {
	case strings.HasSuffix(r.URL.Path, "/_search"):
		var body struct {
			Size int `json:"size"`
		}
		from := r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if from, err = gzip.NewReader(r.Body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		if err := json.NewDecoder(from).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"took": 2, "timed_out": false, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}, "hits": {"total": {"value": %d, "relation": "eq"}, "hits": []}}`, body.Size)
	case strings.Contains(r.URL.Path, "/_doc/"):
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"_index": "shop", "_id": "1", "_version": 1, "result": "created", "_shards": {"total": 1, "successful": 1, "failed": 0}, "_seq_no": 0, "_primary_term": 1}`)
	default:
		fmt.Fprint(w, `{"name": "stub", "cluster_name": "stub", "cluster_uuid": "none", "version": {"number": "9.5.0", "build_flavor": "default", "build_type": "tar", "build_hash": "none", "build_date": "2026-01-01T00:00:00Z", "build_snapshot": false, "lucene_version": "10.0.0", "minimum_wire_compatibility_version": "8.19.0", "minimum_index_compatibility_version": "8.0.0"}, "tagline": "You Know, for Search"}`)
	}
}
