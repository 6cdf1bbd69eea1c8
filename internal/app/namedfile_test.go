package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// Whoever may try settings may name any file. A pipe holds nobody up, and what a
// file says that is no file of limits is not told.
func TestFilesThatSettingsNameAreReadWithCare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "guard.yaml"), filepath.Join(dir, "pipe")
	shadow, twice := filepath.Join(dir, "shadow"), filepath.Join(dir, "twice")
	put(t, file, window(1000, "reject"))
	put(t, shadow, "root:$6$s4lt$hunter2:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n")
	put(t, twice, "hunter2: {}\nhunter2: {}\n")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	text := func(file string) string { return limited("memory:", newElastic(t).worker(), file) }
	r := follow(t, text(file))
	refused := func(text string) *adminapi.Problem {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := r.admin.TrySettings(ctx, adminapi.PutSettings{Text: []byte(text)})
		return problem(t, err)
	}
	for _, name := range []string{pipe, "/dev/zero", dir} {
		if p := refused(text(name)); p.Status != 422 || !strings.Contains(p.Error()+fmt.Sprint(p.Faults), "is not a regular file") {
			t.Errorf("%s: %v %+v", name, p, p.Faults)
		}
	}
	// Nobody is held up: the settings can be changed.
	if _, err := r.admin.PutSettings(t.Context(), adminapi.PutSettings{Text: []byte(strings.Replace(text(file), "limit: 1000", "limit: 900", 1))}); err != nil {
		t.Fatal(err)
	}

	silent := func(what, file string, said any) {
		all, err := json.Marshal(said)
		if err != nil || strings.Contains(string(all), "hunter2") || strings.Contains(string(all), "daemon") || !strings.Contains(string(all), file) {
			t.Errorf("%s: %s, %v", what, all, err)
		}
	}
	silent("limits", shadow, refused(text(shadow)))
	done, err := r.admin.PutSettings(t.Context(), adminapi.PutSettings{Text: []byte(strings.Replace(text(file), "limits:", fmt.Sprintf("hints: %q, limits:", twice), 1))})
	silent("hints", twice, []any{done, fmt.Sprint(err), r.live().Status()})
	// Nor does the log, of a file that can be read as hints.
	if _, err := r.admin.PutSettings(t.Context(), adminapi.PutSettings{Text: []byte(strings.Replace(text(file), "limits:", fmt.Sprintf("hints: %q, limits:", shadow), 1))}); err != nil {
		t.Fatal(err)
	}
	r.until("the hints are read", func() bool { return strings.Contains(r.log.String(), shadow+":2:") })
	if log := r.log.String(); strings.Contains(log, "hunter2") || strings.Contains(log, "daemon") {
		t.Errorf("the log has what the file says:\n%s", log)
	}
	put(t, twice, `{"properties": {"hunter2": {"type": "daemon"}}}`)
	silent("a schema", twice, refused(text(file)+fmt.Sprintf("queues: {jobs: {schema: %q}}\n", twice)))
	// To those who have brought it, it is told.
	own := text(shadow) + "--- # bezoar file " + fmt.Sprintf("%q", shadow) + "\nrules:\n  - {predictor: result_widow, limit: 1}\n"
	if p := refused(own); !strings.Contains(fmt.Sprint(p.Faults), "result_widow") {
		t.Errorf("of limits that came with the settings: %+v", p.Faults)
	}
}

// Settings that name files that cannot be used are refused before anything changes, by every way in which they come, and the
// log names the file with the settings.
func TestSettingsThatNameMissingFiles(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	g := different(mark, 0)
	g.replicas = 1
	r := follow(t, g.text())
	before := r.live().Status().Running.Number
	bad := g.text() + "\nqueues:\n  jobs:\n    schema: " + mark + "/none.json\n"
	line := strings.Count(bad, "\n")
	wrong := func(what string, err error) {
		p := problem(t, err)
		if p.Status != 422 || len(p.Faults) != 1 || p.Faults[0].Path != "queues.jobs.schema" || p.Faults[0].Line != line || !strings.Contains(p.Faults[0].Problem, "none.json does not exist") {
			t.Errorf("%s: %+v", what, p)
		}
	}
	_, err := r.admin.TrySettings(t.Context(), adminapi.PutSettings{Text: []byte(bad)})
	wrong("try", err)
	_, err = r.admin.PutSettings(t.Context(), adminapi.PutSettings{Text: []byte(bad)})
	wrong("put", err)
	r.write(bad)
	want := fmt.Sprintf("%s:%d:5: queues.jobs.schema: ", r.file, line)
	r.until("the log names the place in the file", func() bool { return strings.Contains(r.log.String(), want) })
	if now := r.live().Status().Running.Number; now != before {
		t.Errorf("version %d runs, not %d", now, before)
	}
	// When the file is there, the same settings can be used.
	put(t, mark+"/none.json", `{"type": "object"}`)
	if _, err := r.live().Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.runs(bad)
}
