package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// Every command of the guide to operations is run, in order: the backup, the
// restore from it, and the death of a worker.
func TestOperationsGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/operations.md")
	r.read(map[string][]string{
		"bezoar backup": {"backup/bezoar.db: ", " bytes, checked", "state/secret with the backup"},
		"queue peek":    {`{"order": 1}`, `{"order": 2}`},
	})
}

// Every command of the page about the admin API is run, in order.
func TestAdminAPIGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/admin-api.md")
	r.read(map[string][]string{
		"queues/nobody": {`"name":"jobs"`, `"visible":1`, `"code":"not-found"`, `"status":404`},
	})
	count := regexp.MustCompile(`(?m)^\d+$`).FindString(r.printed)
	if len(count) < 2 {
		t.Errorf("it describes %q operations", count)
	}
}

// The settings for Kubernetes are valid, and bezoar has the flags that the
// manifests use.
func TestKubernetesRunsWhatThereIs(t *testing.T) {
	t.Parallel()
	c, err := config.Load("../../deploy/kubernetes/bezoar.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen == "" || len(c.Queues) == 0 {
		t.Errorf("nothing is served: %+v", c)
	}
	flag := regexp.MustCompile(`--[a-z-]+\b`)
	for command, page := range map[string]string{"work": "work.yaml", "serve": "gateway.yaml"} {
		help, err := exec.CommandContext(t.Context(), "bezoar", command, "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile("../../deploy/kubernetes/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range flag.FindAllString(string(text), -1) {
			if !strings.Contains(string(help), f) {
				t.Errorf("%s: bezoar %s has no %s", page, command, f)
			}
		}
	}
}
