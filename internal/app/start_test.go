package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/app"
)

func TestACommandThatDoesNotExistEndsTheRun(t *testing.T) {
	cfg := setup{Replicas: 2}.config()
	f := cfg.Fleets["app"]
	f.Command = []string{filepath.Join(t.TempDir(), "no-such-server")}
	cfg.Fleets["app"] = f
	err := app.Run(t.Context(), cfg, app.Options{})
	if err == nil {
		t.Fatal("Run returned nil")
	}
	text := err.Error()
	if !strings.Contains(text, "no-such-server") || strings.Count(text, "fleet app") != 1 {
		t.Errorf("the error is %q, want the program and, once, its fleet", text)
	}
}
