package live_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// write puts text into the file as it is, which truncates it first.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace writes beside the file and renames, as careful editors do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// link makes path lead to target, at once.
func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// noPoll is a Config that hears of changes only through notifications, within
// a test's life.
func noPoll(path string) live.Config {
	return live.Config{Path: path, Settle: 5 * time.Millisecond, SlowPoll: time.Hour, Poll: 5 * time.Millisecond}
}

// watching starts a node on a file that says n: 1.
func watching(t *testing.T, s live.Store, c live.Config) *rig {
	t.Helper()
	write(t, c.Path, "n: 1\n")
	r := node(t, s, c).start()
	r.runs("1: n: 1 []")
	return r
}

func TestFileIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.yaml")
	r := watching(t, newStore(t), noPoll(path))
	r.until("is notified", func() bool { return r.live.Status().File.Notified })
	replace(t, path, "n: 2\n")
	r.runs("2: n: 2 []")
	write(t, path, "n: 3\n")
	r.runs("3: n: 3 []")
	replace(t, path, "n: 1\n") // what was known changes back while it is watched: a new version
	r.runs("4: n: 1 []")
	v, err := r.live.Version(t.Context(), 3)
	if err != nil || v.Source != live.FromFile || v.By != "n1" || v.Note != path || string(v.Text) != "n: 3\n" {
		t.Errorf("version 3 is %+v, %v", v, err)
	}
	status := r.live.Status()
	if f := status.File; f.Path != path || !f.Runs || f.Version != 4 || f.Error != "" || f.Sum != live.Sum([]byte("n: 1\n")) {
		t.Errorf("the file's status is %+v", f)
	}
	// A put goes on top and stays there, although the file says something else.
	r.put("n: 9")
	if result, err := r.live.Reload(t.Context()); err != nil || result.Changed || result.Version.Number != 5 {
		t.Errorf("Reload = %+v, %v", result, err)
	}
	r.runs("5: n: 9 []")
	if f := r.live.Status().File; f.Runs || f.Version != 4 {
		t.Errorf("the file's status is %+v", f)
	}
}

func TestBadFileKeepsTheOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.yaml")
	r := watching(t, newStore(t), noPoll(path))
	for name, bad := range map[string]struct {
		spoil func()
		event string
		say   string
	}{
		"empty":     {func() { write(t, path, "") }, live.Refused, "empty"},
		"blank":     {func() { replace(t, path, "\n \n") }, live.Refused, "empty"},
		"invalid":   {func() { replace(t, path, "n: 2\nbroken\n") }, live.Refused, "line 2: no colon"},
		"too long":  {func() { replace(t, path, strings.Repeat("#", live.MaxText+1)) }, live.FileLost, "more than"},
		"deleted":   {func() { _ = os.Remove(path) }, live.FileLost, "no such file"},
		"a folder":  {func() { _ = os.Remove(path); _ = os.Mkdir(path, 0o700) }, live.FileLost, "not a regular file"},
		"a nothing": {func() { link(t, "nowhere", path) }, live.FileLost, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			r.forget()
			calls := r.calls()
			bad.spoil()
			r.hears(bad.event)
			if status := r.live.Status(); !strings.Contains(status.File.Error, bad.say) || status.Running.Number != 1 || status.Wanted.Number != 1 {
				t.Errorf("the status is %+v", status)
			}
			if result, err := r.live.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), bad.say) || result.Version.Number != 1 || result.Changed {
				t.Errorf("Reload = %+v, %v", result, err)
			}
			_ = os.Remove(path) // if it is a folder
			replace(t, path, "n: 1\n")
			r.hears(live.FileBack)
			r.until("no fault is left", func() bool { return r.live.Status().File.Error == "" })
			if r.calls() != calls {
				t.Errorf("Apply was called: %q", r.last())
			}
		})
	}
	if history, err := r.live.History(t.Context(), 0); err != nil || len(history) != 1 {
		t.Errorf("the history is %+v, %v", history, err)
	}
}

// A file whose parts come one after the other is read when it is whole, though
// each of its beginnings would be valid.
func TestHalfAFileIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.yaml")
	c := noPoll(path)
	c.Settle = 2 * time.Second // its parts come within that
	r := watching(t, newStore(t), c)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	whole := ""
	for i := range 20 {
		part := fmt.Sprintf("part%d: x\n", i)
		whole += part
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
	}
	r.runs("2: " + strings.TrimSpace(whole) + " []")
	if r.calls() != 2 || r.saw(live.Refused) {
		t.Errorf("it was applied %d times: %q", r.calls(), r.applied)
	}
}

// A ConfigMap's file is a link into a folder that is a link that is replaced.
func TestConfigMap(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bezoar.yaml")
	swap := func(n int) {
		t.Helper()
		folder := fmt.Sprintf("..2026_%d", n)
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, folder, "bezoar.yaml"), fmt.Sprintf("n: %d\n", n))
		link(t, folder, filepath.Join(dir, "..data"))
		_ = os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..2026_%d", n-1)))
	}
	swap(1)
	link(t, filepath.Join("..data", "bezoar.yaml"), path)
	r := node(t, newStore(t), noPoll(path)).start()
	for n := 1; n <= 5; n++ {
		r.runs(fmt.Sprintf("%d: n: %d []", n, n))
		swap(n + 1)
	}
	r.runs("6: n: 6 []")
	// Somebody writes into the volume.
	write(t, filepath.Join(dir, "..2026_6", "bezoar.yaml"), "n: 7\n")
	r.runs("7: n: 7 []")
}

// Links may lead anywhere, through folders that are links themselves.
func TestLinkedFolders(t *testing.T) {
	dir := t.TempDir()
	for _, release := range []string{"1", "2", "3"} {
		if err := os.MkdirAll(filepath.Join(dir, "releases", release), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "releases", release, "b.yaml"), "n: "+release)
	}
	link(t, filepath.Join(dir, "releases", "1"), filepath.Join(dir, "current"))
	etc := filepath.Join(dir, "etc")
	if err := os.Mkdir(etc, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(etc, "bezoar.yaml")
	link(t, "../current/./b.yaml", path)
	r := node(t, newStore(t), noPoll(path)).start()
	r.runs("1: n: 1 []")
	link(t, "releases/2", filepath.Join(dir, "current"))
	r.runs("2: n: 2 []")
	write(t, filepath.Join(dir, "releases", "2", "b.yaml"), "n: 22")
	r.runs("3: n: 22 []")
	link(t, filepath.Join(dir, "releases", "3", "b.yaml"), path)
	r.runs("4: n: 3 []")
	replace(t, path, "n: 4") // a file in the link's place
	r.runs("5: n: 4 []")
}

// The whole folder may come later, go, and come again.
func TestFolderComesAndGoes(t *testing.T) {
	dir := t.TempDir()
	etc := filepath.Join(dir, "etc", "bezoar")
	path := filepath.Join(etc, "bezoar.yaml")
	r := node(t, newStore(t), noPoll(path)).start()
	r.hears(live.FileLost)
	bring := func(text string) {
		t.Helper()
		whole := filepath.Join(t.TempDir(), "etc", "bezoar")
		if err := os.MkdirAll(whole, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(whole, "bezoar.yaml"), text)
		if err := os.Rename(filepath.Dir(whole), filepath.Join(dir, "etc")); err != nil {
			t.Fatal(err)
		}
	}
	bring("n: 1")
	r.runs("1: n: 1 []")
	r.forget()
	if err := os.RemoveAll(filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	r.hears(live.FileLost)
	bring("n: 2")
	r.runs("2: n: 2 []")
	replace(t, path, "n: 3")
	r.runs("3: n: 3 []")
}

// Where nothing notifies, the file is looked at now and then.
func TestWithoutNotifications(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.yaml")
	c := noPoll(path)
	c.SlowPoll = 20 * time.Millisecond
	write(t, path, "n: 1\n")
	r := node(t, newStore(t), c)
	r.live.Deaf()
	r.start().runs("1: n: 1 []")
	r.hears(live.Unnotified)
	if r.live.Status().File.Notified {
		t.Error("the status says that there are notifications")
	}
	replace(t, path, "n: 2\n")
	r.runs("2: n: 2 []")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.hears(live.FileLost)
	write(t, path, "n: 3\n")
	r.runs("3: n: 3 []")
}

// What else is written in the folder, such as a database, does not keep a
// change from being read.
func TestBusyFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bezoar.yaml")
	c := noPoll(path)
	c.Settle = 300 * time.Millisecond // there is no such pause below
	r := watching(t, newStore(t), c)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			case <-time.After(time.Millisecond):
				_ = os.WriteFile(filepath.Join(dir, "bezoar.db-wal"), []byte(fmt.Sprint(i)), 0o600)
			}
		}
	}()
	defer func() { close(quit); <-done }()
	write(t, path, "n: 2")
	r.runs("2: n: 2 []")
}

// At start a file that is known loses against what came after it.
func TestStartWithAKnownFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.yaml")
	s := newStore(t)
	first := watching(t, s, noPoll(path))
	first.put("n: 2")
	first.stop()

	second := node(t, s, noPoll(path)).start()
	second.runs("2: n: 2 []")
	second.hears(live.FileOlder)
	if calls := second.calls(); calls != 1 {
		t.Errorf("Apply was called %d times: %q", calls, second.applied)
	}
	second.stop()

	write(t, path, "n: 3") // changed while nobody watched: none of the known
	third := node(t, s, noPoll(path)).start()
	third.runs("3: n: 3 []")
	third.stop()

	write(t, path, "broken") // what is known runs
	fourth := node(t, s, noPoll(path)).start()
	fourth.runs("3: n: 3 []")
	fourth.hears(live.Refused)
}

// However often something is put: a restart does not take the file for new.
func TestStartAfterManyPuts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.yaml")
	s := newStore(t)
	first := watching(t, s, noPoll(path))
	last := live.Version{}
	for i := range live.KeepVersions + 5 {
		last = first.put(fmt.Sprint("n: ", 1000+i))
	}
	first.stop()
	second := node(t, s, noPoll(path)).start()
	second.runs(fmt.Sprintf("%d: %s []", last.Number, "n: 1104"))
	second.stop()
	if v, err := s.Version(t.Context(), 0); err != nil || v.Number != last.Number {
		t.Errorf("the newest is %+v, %v", v, err)
	}
}

// All nodes get one file, at different times; it is one version, and the last
// to get it does not undo what was put meanwhile.
func TestOneFileOnManyNodes(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	var nodes []*rig
	var paths []string
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprintf("n%d.yaml", i))
		write(t, path, "n: 1\n")
		c := noPoll(path)
		c.Node = fmt.Sprint("n", i)
		nodes, paths = append(nodes, node(t, s, c).start()), append(paths, path)
	}
	all := func(want string) {
		t.Helper()
		for _, n := range nodes {
			n.runs(want)
		}
	}
	all("1: n: 1 []")
	replace(t, paths[0], "n: 2\n")
	replace(t, paths[1], "n: 2\n")
	all("2: n: 2 []")
	nodes[0].put("n: 3")
	all("3: n: 3 []")
	nodes[2].forget()
	replace(t, paths[2], "n: 2\n")
	nodes[2].hears(live.FileOlder)
	all("3: n: 3 []")
	// Back to the first text, everywhere: a change of the file, again one version.
	for _, path := range paths {
		replace(t, path, "n: 1\n")
	}
	all("4: n: 1 []")
	nodes[1].until("has read its own file", func() bool { return nodes[1].live.Status().File.Runs })
	replace(t, paths[1], "n: 2\n")
	all("5: n: 2 []")
	if history, err := nodes[0].live.History(t.Context(), 0); err != nil || len(history) != 5 {
		t.Errorf("the history is %+v, %v", history, err)
	}
}

// Without the store the file is followed alone, and recorded later.
func TestFileChangesWithoutStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.yaml")
	s := newStore(t)
	other := node(t, s, live.Config{Node: "other", Poll: 5 * time.Millisecond}).start()
	write(t, path, "n: 1\n")
	r := node(t, s, noPoll(path))
	r.store.cut(true)
	r.start().runs("0: n: 1 []") // it begins without, too
	r.hears(live.StoreLost)
	replace(t, path, "n: 2\n")
	r.runs("0: n: 2 []")
	if status := r.live.Status(); status.File.Version != 0 || !status.File.Runs || status.Running.Number != 0 {
		t.Errorf("the status is %+v", status)
	}
	other.put("n: 9")
	calls := r.calls()
	r.store.cut(false)
	other.runs("2: n: 2 []") // on top of what others put meanwhile
	r.until("knows its number", func() bool { return r.live.Status().Running.Number == 2 })
	if r.calls() != calls {
		t.Errorf("what runs was applied again: %q", r.applied)
	}
	if v, err := other.live.Version(t.Context(), 1); err != nil || string(v.Text) != "n: 9" {
		t.Errorf("version 1 is %q, %v", v.Text, err)
	}
}
