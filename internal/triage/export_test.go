package triage_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestExportWritesALineForEachLetter(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		want := map[string]bool{}
		for _, id := range append(r.kill(450, "a"), r.source.kept.add(3, bezoar.Crash)...) {
			want[id] = true
		}
		r.kill(2, "b")
		var out bytes.Buffer
		n, err := r.Export(r.Context(), ann, &out, queue.Selection{})
		if err != nil || n != 455 {
			t.Fatalf("exported %d, %v", n, err)
		}
		if bytes.Contains(out.Bytes(), []byte("hunter2")) {
			t.Error("a secret was exported")
		}
		lines := bufio.NewScanner(&out)
		for lines.Scan() {
			var l triage.Letter
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Fatalf("%v in %s", err, lines.Text())
			}
			if l.Body == nil || len(l.Attempts) != 1 {
				t.Fatalf("exported %+v", l)
			}
			delete(want, l.ID)
		}
		if len(want) > 0 {
			t.Errorf("%d letters are missing", len(want))
		}
		var few bytes.Buffer
		if n, err := r.Export(r.Context(), ann, &few, queue.Selection{Groups: []string{"bug:b"}}); err != nil || n != 2 {
			t.Errorf("of a group exported %d, %v", n, err)
		}
		if e := r.log("letters.export"); e.Actor != "ann" || !strings.Contains(string(e.Detail), `"actual":2`) {
			t.Errorf("the log says %+v", e)
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestExportSaysWhatItCouldNotWrite(t *testing.T) {
	test(t, nil, func(r *rig) {
		r.kill(1, "a")
		if _, err := r.Export(r.Context(), ann, full{}, queue.Selection{}); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("exported with %v", err)
		}
		if e := r.log("letters.export"); !strings.Contains(e.Error, "disk full") {
			t.Errorf("the log says %+v", e)
		}
		_, err := r.Export(r.Context(), ann, full{}, queue.Selection{Queue: "gateway:x"})
		r.wants(err, queue.ErrQueueNotFound)
	})
}
