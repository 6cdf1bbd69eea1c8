package taskrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
)

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A log that is too long keeps its ends, and says what is missing; also after a
// kill.
func TestALongLog(t *testing.T) {
	for _, killed := range []bool{false, true} {
		for _, size := range []int{0, 1, 99, 100, 101, 149, 150, 151, 777, 1000} {
			dir := t.TempDir()
			l := &logFile{path: filepath.Join(dir, "log"), mark: filepath.Join(dir, "ring"), limit: 100}
			var all bytes.Buffer
			for i := 0; all.Len() < size; i++ {
				b := fmt.Appendf(nil, "%d,", i)
				b = b[:min(len(b), size-all.Len())]
				all.Write(b)
				_, _ = l.Write(b)
			}
			want := all.String()
			if gone := size - 100; gone > 0 {
				want = want[:50] + string(ringOf(int64(size), 100).gap(int64(gone))) + want[size-50:]
			}
			live, err := io.ReadAll(l.open(t.Context(), 0, false))
			if err != nil || string(live) != want {
				t.Fatalf("%d bytes, while it runs: %q, %v; want %q", size, live, err, want)
			}
			if killed && size > 100 {
				if err := straightenLeft(l.path, l.mark); err != nil {
					t.Fatal(err)
				}
			} else if n, err := l.finish(); err != nil || n != int64(size) {
				t.Fatalf("finish: %d, %v", n, err)
			}
			got, _ := os.ReadFile(l.path)
			if string(got) != want {
				t.Errorf("%d bytes, killed %v: %q, want %q", size, killed, got, want)
			}
			if _, err := os.Stat(l.mark); err == nil && size > 100 {
				t.Errorf("%d bytes: the note stays", size)
			}
		}
	}
}

// Who follows gets everything as it comes, and the end.
func TestFollow(t *testing.T) {
	r := runner(t, nil)
	dir := t.TempDir()
	s := shell(1, `echo one; while [ ! -e go ]; do sleep 0.01; done; echo two >&2`)
	s.Dir = dir
	if err := r.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	in, err := r.Logs(t.Context(), 1, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got := make([]byte, 4)
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "one\n" {
		t.Fatalf("got %q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	other, err := r.Logs(ctx, 1, 4, true)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := other.Read(got); err == nil {
		t.Error("it reads on though its context is over")
	}
	_ = other.Close()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(in)
	if err != nil || string(rest) != "two\n" {
		t.Errorf("then %q, %v", rest, err)
	}
	wait(t, r, 1)
	if later, err := r.Logs(t.Context(), 1, 4, true); err != nil {
		t.Error(err)
	} else if rest, _ := io.ReadAll(later); string(rest) != "two\n" {
		t.Errorf("after its end: %q", rest)
	} else {
		_ = later.Close()
	}
}

// A secret is hidden however the writes cut it, and nothing else is changed.
func TestMask(t *testing.T) {
	e := &environment{secrets: []string{"hunter2222", "hunterhunter"}}
	e.known = knownOf(e.secrets)
	text := "hunt the hunter: hunter2222, hunterhunter2222 hunterhunte"
	for step := 1; step < 14; step++ {
		var out bytes.Buffer
		m := e.masked(&out).(*mask)
		for rest := text; rest != ""; {
			k := min(step, len(rest))
			_, _ = m.Write([]byte(rest[:k]))
			rest = rest[k:]
		}
		_ = m.Close()
		if got := out.String(); strings.Contains(got, "hunter2222") || strings.Contains(got, "hunterhunter") ||
			!strings.HasPrefix(got, "hunt the hunter: "+bezoar.Redacted+", ") || !strings.HasSuffix(got, " hunterhunte") {
			t.Errorf("in steps of %d: %q", step, got)
		}
	}
}

// The journal drops its older half, keeps what still runs, and reads what a torn
// write has left.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(token int64, want bool) {
		t.Helper()
		if fresh, err := j.begin(token); err != nil || fresh != want {
			t.Fatalf("begin %d: %v, %v", token, fresh, err)
		}
	}
	end := func(token int64) {
		t.Helper()
		if err := j.end(token, &flow.Ending{Class: bezoar.Bug, ExitCode: int(token)}); err != nil {
			t.Fatal(err)
		}
	}
	begin(1, true)
	begin(2, true)
	end(1)
	for i := range 2 {
		if err := j.turn([]int64{2}); err != nil {
			t.Fatal(err)
		}
		begin(2, false)
		if e, _, err := j.find(1); err != nil || (e != nil) != (i == 0) {
			t.Errorf("after %d turns: %+v, %v", i+1, e, err)
		}
	}
	begin(3, true)
	end(3)
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString("torn torn torn torn torn torn")
	_ = f.Close()
	if j, err = openJournal(dir); err != nil {
		t.Fatal(err)
	}
	defer j.close()
	begin(2, false)
	begin(3, false)
	if e, known, err := j.find(3); err != nil || !known || e == nil || e.ExitCode != 3 || e.Class != bezoar.Bug {
		t.Errorf("ending %+v, %v, %v", e, known, err)
	}
	begin(4, true)
	end(4)
	if e, _, err := j.find(4); err != nil || e == nil || e.ExitCode != 4 {
		t.Errorf("ending %+v, %v", e, err)
	}
}
