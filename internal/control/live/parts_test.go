package live_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// named lists what lines like "file: x" name.
func named(text []byte) (out []string) {
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "file: "); ok {
			out = append(out, name)
		}
	}
	return out
}

// pair is a file of settings and one that it names, in folders of their own.
type pair struct {
	t            *testing.T
	main, limits string
}

func newPair(t *testing.T) pair {
	dir := t.TempDir()
	p := pair{t, filepath.Join(dir, "bezoar.yaml"), filepath.Join(dir, "limits", "guard.yaml")}
	if err := os.Mkdir(filepath.Dir(p.limits), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("n: 1", "l: 1")
	return p
}

func (p pair) write(text, limits string) {
	p.t.Helper()
	if limits != "" {
		replace(p.t, p.limits, limits+"\n")
	}
	if text != "" {
		replace(p.t, p.main, p.settings(text))
	}
}

func (p pair) settings(text string) string { return text + "\nfile: " + p.limits + "\n" }

// whole is what a version of the two holds.
func (p pair) whole(text, limits string) string {
	return fmt.Sprintf("%s--- # bezoar file %q\n%s\n", p.settings(text), p.limits, limits)
}

// config checks the whole and reads what is named.
func (p pair) config(node string) live.Config {
	c := noPoll(p.main)
	c.Node, c.Files = node, named
	return c
}

// runsBoth waits until a version of the two runs.
func (r *rig) runsBoth(p pair, number int64, text, limits string) {
	r.t.Helper()
	r.runs(fmt.Sprintf("%d: %s []", number, strings.TrimSpace(p.whole(text, limits))))
}

func (r *rig) rollback(to int64) {
	r.t.Helper()
	if _, err := r.live.Rollback(r.t.Context(), to, "ann"); err != nil {
		r.t.Fatal(err)
	}
}

func TestFilesThatSettingsNameAreVersioned(t *testing.T) {
	p := newPair(t)
	r := node(t, newStore(t), p.config("n1")).start()
	r.runsBoth(p, 1, "n: 1", "l: 1")
	p.write("", "l: 2")
	r.runsBoth(p, 2, "n: 1", "l: 2")
	if v, err := r.live.Version(t.Context(), 2); err != nil || v.Note != p.limits || v.Source != live.FromFile {
		t.Errorf("version 2 is %+v, %v", v, err)
	}
	diff := r.diff(1, 2)
	if !strings.Contains(diff, "-l: 1\n+l: 2\n") || !strings.Contains(diff, "@@ "+p.limits) {
		t.Errorf("the diff is\n%s", diff)
	}
	f := r.live.Status().File
	if !f.Runs || len(f.Files) != 1 || !f.Files[0].Runs || f.Files[0].Path != p.limits {
		t.Errorf("the status is %+v", f)
	}
	// Back: the file differs, and counts again when it changes.
	r.rollback(1)
	r.runsBoth(p, 3, "n: 1", "l: 1")
	if f := r.live.Status().File; f.Runs || f.Files[0].Runs || f.Files[0].Error != "" {
		t.Errorf("after the rollback the status is %+v", f)
	}
	if result, err := r.live.Reload(t.Context()); err != nil || result.Changed {
		t.Errorf("Reload = %+v, %v", result, err)
	}
	// The other file alone changes: what was rolled back, stays so.
	p.write("n: 2", "")
	r.runsBoth(p, 4, "n: 2", "l: 1")
	p.write("", "l: 3")
	r.runsBoth(p, 5, "n: 2", "l: 3")
	// Somebody puts other settings, and then the limits change: of the settings
	// nothing comes back.
	r.put(p.settings("n: 7"))
	r.runsBoth(p, 6, "n: 7", "l: 3")
	p.write("", "l: 4")
	r.runsBoth(p, 7, "n: 7", "l: 4")
}

func TestANamedFileThatIsBadKeepsTheOld(t *testing.T) {
	p := newPair(t)
	r := node(t, newStore(t), p.config("n1")).start()
	r.runsBoth(p, 1, "n: 1", "l: 1")
	for name, bad := range map[string]struct {
		spoil      func()
		say, named string
	}{
		"invalid":   {func() { p.write("", "broken") }, "no colon", ""},
		"empty":     {func() { write(t, p.limits, "") }, p.limits + ": it is empty", ""},
		"a version": {func() { p.write("", p.whole("n: 1", "l: 1")) }, "text of a version", ""},
		"deleted":   {func() { _ = os.Remove(p.limits) }, "", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			bad.spoil()
			r.until("the status says so", func() bool {
				f := r.live.Status().File
				return bad.say != "" && strings.Contains(f.Error, bad.say) && !f.ErrorAt.IsZero() ||
					bad.named != "" && len(f.Files) == 1 && strings.Contains(f.Files[0].Error, bad.named) && !f.Files[0].ErrorAt.IsZero()
			})
			if f := r.live.Status().File; f.Runs || f.Files[0].Runs || bad.named == "" && !strings.HasPrefix(f.Error, "the file "+p.limits+" is invalid: ") {
				t.Errorf("the status is %+v", f)
			}
			p.write("", "l: 1")
			r.until("it is mended", func() bool {
				f := r.live.Status().File
				return f.Error == "" && f.ErrorAt.IsZero() && f.Files[0].Error == "" && f.Runs
			})
		})
	}
	if n := r.live.Status().Running.Number; n != 1 {
		t.Errorf("version %d runs", n)
	}
}

func TestPutsCompleteWhatTheyName(t *testing.T) {
	p := newPair(t)
	other := p
	other.limits += ".other"
	r := node(t, newStore(t), p.config("n1")).start()
	r.runsBoth(p, 1, "n: 1", "l: 1")
	r.put(p.whole("n: 1", "l: 2"))
	r.runsBoth(p, 2, "n: 1", "l: 2")
	r.put(p.settings("n: 2")) // as it is in force
	r.runsBoth(p, 3, "n: 2", "l: 2")
	replace(t, other.limits, "l: 9\n")
	r.put(other.settings("n: 3")) // as it is here
	r.runsBoth(other, 4, "n: 3", "l: 9")
	r.put(other.whole("n: 3", "l: 8")) // whatever is here
	r.runsBoth(other, 5, "n: 3", "l: 8")
	for text, say := range map[string]string{
		"n: 4\nfile: /none/x\n":                              "name the file /none/x",
		"n: 4\n--- # bezoar file \"x\"\nl: 1\n":              "do not name the file",
		p.whole("n: 4", "broken"):                            "no colon",
		p.whole("n: 4", ""):                                  "empty",
		"n: 4\n--- # bezoar file x\n":                        "not a file's name in quotes",
		p.settings("n: 4") + strings.Repeat("# long\n", 1e6): "more than",
	} {
		_, err := r.live.Put(t.Context(), []byte(text), "ann", "")
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("Put(%.60q) = %v, want %s", text, err, say)
		}
		var invalid *live.InvalidError
		if say != "more than" && !errors.As(err, &invalid) {
			t.Errorf("Put(%.60q) = %v, which is not an InvalidError", text, err)
		}
	}
	if v := r.live.Status().Running; v.Number != 5 {
		t.Errorf("version %d runs", v.Number)
	}
}

func TestNodesWithoutANamedFileConverge(t *testing.T) {
	p, s := newPair(t), newStore(t)
	one := node(t, s, p.config("n1")).start()
	one.runsBoth(p, 1, "n: 1", "l: 1")
	// One has no files at all; another starts with the settings alone.
	none := node(t, s, live.Config{Node: "n2", Files: named, Poll: 5 * time.Millisecond}).start()
	none.runsBoth(p, 1, "n: 1", "l: 1")
	p.write("", "l: 2")
	one.runsBoth(p, 2, "n: 1", "l: 2")
	none.runsBoth(p, 2, "n: 1", "l: 2")
	one.stop()
	if err := os.Remove(p.limits); err != nil {
		t.Fatal(err)
	}
	late := node(t, s, p.config("n3")).start()
	late.runsBoth(p, 2, "n: 1", "l: 2")
	if f := late.live.Status().File; f.Error != "" || len(f.Files) != 1 || !strings.Contains(f.Files[0].Error, "no such file") {
		t.Errorf("the status is %+v", f)
	}
	p.write("", "l: 3") // it comes
	late.runsBoth(p, 3, "n: 1", "l: 3")
	none.runsBoth(p, 3, "n: 1", "l: 3")
}

// A node that gets the same new file later undoes no rollback.
func TestALateNodeUndoesNothing(t *testing.T) {
	s, p, q := newStore(t), newPair(t), newPair(t)
	q.limits = p.limits // one name; the nodes' folders differ by what they hear
	replace(t, q.main, p.settings("n: 1"))
	one := node(t, s, p.config("n1")).start()
	one.runsBoth(p, 1, "n: 1", "l: 1")
	c := q.config("n2")
	c.Settle, c.SlowPoll = 5*time.Millisecond, time.Hour
	two := node(t, s, c)
	two.live.Deaf() // it looks when it is told to
	two.start()
	two.runsBoth(p, 1, "n: 1", "l: 1")
	p.write("", "l: 2")
	one.runsBoth(p, 2, "n: 1", "l: 2")
	two.runsBoth(p, 2, "n: 1", "l: 2")
	one.rollback(1)
	two.runsBoth(p, 3, "n: 1", "l: 1")
	if _, err := two.live.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	one.put(p.settings("n: 5"))
	two.runsBoth(p, 4, "n: 5", "l: 1")
}

// After a restart the newest stays, though the files never were one version.
func TestARestartChangesNothingOfPartsThatAreKnown(t *testing.T) {
	p, s := newPair(t), newStore(t)
	r := node(t, s, p.config("n1")).start()
	r.runsBoth(p, 1, "n: 1", "l: 1")
	r.put(p.settings("n: 7"))
	p.write("", "l: 2")
	r.runsBoth(p, 3, "n: 7", "l: 2")
	r.stop()
	r = node(t, s, p.config("n1")).start()
	r.runsBoth(p, 3, "n: 7", "l: 2")
	r.stop()
	p.write("", "l: 3") // while nobody looks
	r = node(t, s, p.config("n1")).start()
	r.runsBoth(p, 4, "n: 7", "l: 3")
}

// What changes while the store is away, runs, and goes on top of what others put
// meanwhile, part by part.
func TestPartsAreJoinedAfterAnOutage(t *testing.T) {
	p, s := newPair(t), newStore(t)
	one := node(t, s, p.config("n1")).start()
	two := node(t, s, live.Config{Node: "n2", Files: named, Poll: 5 * time.Millisecond}).start()
	one.runsBoth(p, 1, "n: 1", "l: 1")
	two.runsBoth(p, 1, "n: 1", "l: 1")
	one.store.cut(true)
	one.hears(live.StoreLost)
	p.write("", "l: 2")
	one.runsBoth(p, 0, "n: 1", "l: 2")
	p.write("", "l: 3")
	one.runsBoth(p, 0, "n: 1", "l: 3")
	two.put(p.settings("n: 6"))
	two.runsBoth(p, 2, "n: 6", "l: 1")
	one.store.cut(false)
	one.runsBoth(p, 3, "n: 6", "l: 3")
	two.runsBoth(p, 3, "n: 6", "l: 3")
}

// A ConfigMap with the limits swaps a link of their folder.
func TestANamedFileBehindLinksIsFollowed(t *testing.T) {
	p := newPair(t)
	dir := filepath.Dir(p.limits)
	swap := func(version, text string) {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, version, "guard.yaml"), text+"\n")
		link(t, version, filepath.Join(dir, "..data"))
	}
	swap("..1", "l: 1")
	if err := os.Remove(p.limits); err != nil {
		t.Fatal(err)
	}
	link(t, "..data/guard.yaml", p.limits)
	r := node(t, newStore(t), p.config("n1")).start()
	r.runsBoth(p, 1, "n: 1", "l: 1")
	r.until("is notified", func() bool { return r.live.Status().File.Notified })
	swap("..2", "l: 2")
	r.runsBoth(p, 2, "n: 1", "l: 2")
	swap("..3", "l: 3")
	r.runsBoth(p, 3, "n: 1", "l: 3")
}
