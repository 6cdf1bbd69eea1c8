package app_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// A Bezoar whose disk is full starts, is ready, and says what is wrong.
func TestARestartOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("this user may not mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	cfg := onlyQueues(dir)
	f := config.DefaultFleet()
	f.Workers = []string{"http://127.0.0.1:1"}
	r := config.DefaultRoute()
	r.Match.Path, r.Fleet = "/*", "app"
	cfg.Listen, cfg.Fleets, cfg.Routes = "127.0.0.1:0", map[string]config.Fleet{"app": f}, []config.Route{r}
	cfg.Queues = map[string]config.Queue{"jobs": config.DefaultQueue()}
	cfg = cfg.Normalize()
	if log, err := once(t, cfg, nil); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	fillDisk(t, dir)
	log, err := once(t, cfg, func(a *app.App) {
		report := func() string {
			res, err := http.Get("http://" + a.AdminAddr() + "/healthz")
			if err != nil {
				return err.Error()
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body)
			return string(text)
		}
		rig := &rig{t: t}
		rig.until("it is ready, and degraded because the disk is full", func() bool {
			text := report()
			return strings.HasPrefix(text, `{"state":"degraded"`) && strings.Contains(text, `"ready":true`) &&
				strings.Contains(text, `"store:file","kind":"custom","state":"degraded"`)
		})
	})
	if err != nil {
		t.Errorf("%v\n%s", err, log)
	}
}

// fillDisk leaves nothing of a disk.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
