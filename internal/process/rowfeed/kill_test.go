package rowfeed

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A sifting that is killed again and again: no line of the output and no letter
// is lost or doubled, and what the state says is finished does not run again.
func TestKillNine(t *testing.T) {
	dir := t.TempDir()
	const n = 2000
	bad := []int{1, 300, 301, 777, 1400, n}
	log := filepath.Join(dir, "log")
	j := job{
		Input: write(t, "in", numbers(n)), State: filepath.Join(dir, "s"), Output: filepath.Join(dir, "out"), Letters: filepath.Join(dir, "bad"),
		Command: append(sh(`tee -a "$0" | awk '$1==1||$1==300||$1==301||$1==777||$1==1400||$1==2000 { print "Error: bad" > "/dev/stderr"; exit 1 } { print "done " $1 }'`), log),
		Batch:   25, Parallel: 3,
	}
	config, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	rounds, whole := 0, false
	for ; !whole; rounds++ {
		if rounds == 200 {
			t.Fatal("it never ends")
		}
		finished := finishedIn(t, j.State)
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		whole = round(t, string(config), j.State)
		for row := range strings.FieldsSeq(read(t, log)) {
			if finished[row] {
				t.Fatalf("round %d: row %s had been finished and ran again", rounds, row)
			}
		}
	}
	want := "done " + strings.ReplaceAll(strings.TrimSuffix(without(n, bad...), "\n"), "\n", "\ndone ") + "\n"
	if got := read(t, j.Output); got != want {
		t.Errorf("the output has %d lines, want %d in order", strings.Count(got, "\n"), n-len(bad))
	}
	var rows []int
	for _, l := range lettersIn(t, j.Letters) {
		rows = append(rows, l.Row)
	}
	slices.Sort(rows)
	if !slices.Equal(rows, bad) {
		t.Errorf("letters of rows %v, want %v", rows, bad)
	}
	if rounds < 20 {
		t.Errorf("only %d rounds", rounds)
	}
	t.Logf("killed %d times", rounds-1)
}

// What a dead sifting left is not there any more when its rows run again.
func TestNothingOutlivesADeadSifting(t *testing.T) {
	dir := t.TempDir()
	pidfile := filepath.Join(dir, "pid")
	j := job{
		Input: write(t, "in", numbers(10)), State: filepath.Join(dir, "s"), Output: filepath.Join(dir, "out"), Letters: filepath.Join(dir, "bad"),
		Command: append(sh(`if [ ! -e "$0" ]; then setsid sleep 300 & echo $! > "$0"; kill -9 $PPID; exec sleep 300; fi; grep -qs "^State:.[RSD]" /proc/$(cat "$0")/status && exit 9; cat`), pidfile),
	}
	config, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRun+"="+string(config), "GORACE=atexit_sleep_ms=0")
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("it was not killed: %v", err)
	}
	if pid := strings.TrimSpace(read(t, pidfile)); pid == "" {
		t.Fatal("nothing escaped")
	}
	r, err := Run(t.Context(), j.config())
	if err != nil || r.Runs != 1 || read(t, j.Output) != numbers(10) {
		t.Errorf("%v after %d runs, output %q", err, r.Runs, read(t, j.Output))
	}
}

// round runs one process until it has written a little, and kills it. whole
// says that it was quicker.
func round(t *testing.T, config, state string) (whole bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRun+"="+config, "GORACE=atexit_sleep_ms=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	until := size(state) + rand.Int64N(250)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("it ended by itself: %v\n%s", err, stderr.String())
			}
			return true
		case <-tick.C:
			if size(state) > until {
				_ = cmd.Process.Kill()
				<-ended
				return false
			}
		}
	}
}

func size(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// finishedIn are the rows that a state says are finished, as the input has them.
func finishedIn(t *testing.T, path string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	text, err := os.ReadFile(path)
	if err != nil {
		return out
	}
	in := strings.Fields(numbers(2000))
	recs, _ := decode(text)
	for _, r := range recs {
		for _, d := range r.Done {
			for row := d[0]; row < d[1]; row++ {
				if out[in[row]] {
					t.Fatalf("row %d was finished twice", row+1)
				}
				out[in[row]] = true
			}
		}
		if r.Letter != nil {
			out[in[r.Letter.Row]] = true
		}
	}
	return out
}

// A state that was cut anywhere is read up to there.
func FuzzState(f *testing.F) {
	text := must(encode(record{Begin: &begin{Version: 1, ID: "sift-1", Rows: 9}}))
	text = append(text, must(encode(record{Done: [][2]int{{0, 3}}, Out: &reached{3, 17}}))...)
	f.Add(text, 5)
	f.Add(text, 100)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		recs, n := decode(text)
		if n > len(text) {
			t.Fatal(n)
		}
		if cut < 0 || cut > len(text) {
			return
		}
		fewer, m := decode(text[:cut])
		if len(fewer) > len(recs) || m > n || m > cut {
			t.Errorf("%d records in %d bytes, %d in the first %d", len(recs), n, len(fewer), cut)
		}
		if again, k := decode(text[:n]); len(again) != len(recs) || k != n {
			t.Errorf("%d records, then %d", len(recs), len(again))
		}
	})
}
