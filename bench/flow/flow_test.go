package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
)

func TestBadFlagsExitWith2(t *testing.T) {
	for _, args := range [][]string{{"-cases", "tall"}, {"-cases", ""}, {"-rounds", "0"}, {"-slots", "0"}, {"-goal", "-1"}, {"-tea"}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("run(%q) = %d, printed %q, said %q", args, code, &out, &errs)
		}
	}
}

func TestCheckFindsWhatDidNotRunOnceInOrder(t *testing.T) {
	g := graph{tasks: chain(3)}
	for ran, say := range map[string]string{
		"t0 t1 t2": "", "t0 t1": "t2 did not run", "t0 t1 t1 t2": "t1 ran more than once", "t1 t0 t2": "t1 ran before t0", "t0 t1 t2 t3": "4 tasks ran, want 3",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ranFile), []byte(strings.ReplaceAll(ran, " ", "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := g.check(dir)
		if (err == nil) != (say == "") || err != nil && !strings.Contains(err.Error(), say) {
			t.Errorf("after %q: %v, want %q", ran, err, say)
		}
	}
	if _, err := g.check(t.TempDir()); err == nil {
		t.Error("no task ran, and there is no error")
	}
}

func TestRatiosComeFromTheSameRound(t *testing.T) {
	ms := func(walls ...int) (all []sample) {
		for _, n := range walls {
			all = append(all, sample{wall: time.Duration(n) * time.Millisecond})
		}
		return all
	}
	row := newRow(graphs()[0], cold, map[string][]sample{bezoar: ms(10, 40, 90), dagu: ms(20, 100, 100)})
	if row.Ratio != (Ratio{0.5, 0.9}) || row.CPU != (Ratio{}) || row.Bezoar.Wall != 40 || row.Dagu.Wall != 100 {
		t.Errorf("row %+v", row)
	}
	if r := (&Report{Rows: []Row{row, {Ratio: Ratio{Median: 0.7}}}}); r.Worst() != 0.7 {
		t.Errorf("worst median %v", r.Worst())
	}
}

// A package is used only if it is the pinned one.
func TestUnpack(t *testing.T) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	files := tar.NewWriter(zip)
	for _, f := range []struct{ name, text string }{{"package/README.md", "read"}, {daguBinary, "program"}} {
		if err := files.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(files, f.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pack, bin := filepath.Join(dir, "pack.tgz"), filepath.Join(dir, "dagu")
	if err := os.WriteFile(pack, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unpack(pack, bin, daguSHA512); err == nil || !strings.Contains(err.Error(), "SHA-512") {
		t.Errorf("another package than the pinned one: %v", err)
	}
	if _, err := os.Stat(bin); err == nil {
		t.Error("its binary was written")
	}
	sum := sha512.Sum512(packed.Bytes())
	if err := unpack(pack, bin, base64.StdEncoding.EncodeToString(sum[:])); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(bin); err != nil || string(text) != "program" {
		t.Errorf("the binary is %q, %v", text, err)
	}
}

// Bezoar accepts every graph. Both programs run two small ones, and each task runs once.
func TestRun(t *testing.T) {
	bench, err := peer.New(peer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	ours, err := bench.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range graphs() {
		file := filepath.Join(t.TempDir(), g.name+".yaml")
		if err := os.WriteFile(file, []byte(g.forBezoar("/tmp/a b", 3)), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(ours, "flow", "validate", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", g.name, err, said)
		}
	}
	var said bytes.Buffer
	theirs, err := fetch(t.Context(), &said)
	if errors.Is(err, errNoRegistry) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := []string{"-bezoar", ours, "-dagu", theirs, "-rounds", "1", "-cases", "one,mixed", "-json"}
	if code := run(t.Context(), args, &out, &errs); code != 0 {
		t.Fatalf("run = %d, said %s", code, &errs)
	}
	var r Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 4 || r.Dagu != daguVersion {
		t.Fatalf("%d rows with dagu %s, want 4 with %s", len(r.Rows), r.Dagu, daguVersion)
	}
	for _, row := range r.Rows {
		if row.Bezoar.Wall <= 0 || row.Dagu.Wall <= 0 || row.Ratio.Worst < row.Ratio.Median || (row.CPU.Median > 0) != (row.Way == cold) {
			t.Errorf("row %+v", row)
		}
	}
}
