package taskrun

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
)

// A look says that it is there, that it is not there yet, or what is wrong.
func TestSensors(t *testing.T) {
	answers := map[string]int{"/there": 204, "/later": 404, "/busy": 503, "/locked": 403}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(answers[r.URL.Path]) }))
	defer srv.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	r := runner(t, func(c *Config) {
		c.Environ = append(c.Environ, "DB=secret-dsn")
		c.Query = func(_ context.Context, dsn, query string) (bool, error) {
			if dsn != "secret-dsn" {
				t.Errorf("dsn %q", dsn)
			}
			if query == "broken" {
				return false, errors.New("no such table at " + dsn)
			}
			return query == "yes", nil
		}
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dsn := flow.Value{Secret: "env:DB"}
	for i, tc := range []struct {
		name   string
		sensor flow.Sensor
		class  bezoar.Class
		notYet bool
	}{
		{"command: there", flow.Sensor{Command: []string{"true"}}, bezoar.Done, false},
		{"command: not yet", flow.Sensor{Command: []string{"sh", "-c", "exit 75"}}, bezoar.Transient, true},
		{"command: wrong", flow.Sensor{Command: []string{"false"}}, bezoar.Bug, false},
		{"file: there", flow.Sensor{File: "*.csv"}, bezoar.Done, false},
		{"file: not yet", flow.Sensor{File: "*.txt"}, bezoar.Transient, true},
		{"file: wrong", flow.Sensor{File: "[*"}, bezoar.Bug, false},
		{"http: there", flow.Sensor{HTTP: srv.URL + "/there"}, bezoar.Done, false},
		{"http: not yet", flow.Sensor{HTTP: srv.URL + "/later"}, bezoar.Transient, true},
		{"http: busy", flow.Sensor{HTTP: srv.URL + "/busy"}, bezoar.Transient, true},
		{"http: down", flow.Sensor{HTTP: gone.URL}, bezoar.Transient, true},
		{"http: wrong", flow.Sensor{HTTP: srv.URL + "/locked"}, bezoar.Bug, false},
		{"sql: there", flow.Sensor{SQL: "yes", DSN: dsn}, bezoar.Done, false},
		{"sql: not yet", flow.Sensor{SQL: "no", DSN: dsn}, bezoar.Transient, true},
		{"sql: wrong", flow.Sensor{SQL: "broken", DSN: dsn}, bezoar.Bug, false},
	} {
		e := run(t, r, flow.Spec{Token: int64(i + 1), Dir: dir, Sensor: &tc.sensor})
		if e.Class != tc.class || e.NotYet != tc.notYet || e.NotYet && e.Fingerprint != "" || !e.NotYet && e.Class != bezoar.Done && e.Fingerprint == "" {
			t.Errorf("%s: %+v", tc.name, e)
		}
		if strings.Contains(e.Reason+logOf(t, r, int64(i+1)), "secret-dsn") {
			t.Errorf("%s tells the secret: %s", tc.name, e.Reason)
		}
	}
}
