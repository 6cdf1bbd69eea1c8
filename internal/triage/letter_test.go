package triage_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestALetterShowsEverythingButSecrets(t *testing.T) {
	test(t, nil, func(r *rig) {
		id := r.kill(1, "a")[0]
		l, err := r.Letter(r.Context(), id)
		r.must(l, err)
		if l.Queue != dlq || l.Origin != jobs || l.Class != bezoar.Bug || l.Failure != "a" || l.Group != "bug:a" || l.Receives != 1 {
			t.Errorf("the letter is %+v", l)
		}
		if l.Body == nil || l.Body.Text == nil || *l.Body.Text != "body 0 of a" || len(l.Attempts) != 1 {
			t.Errorf("body and attempts are %+v, %+v", l.Body, l.Attempts)
		}
		if a := l.Attributes["Authorization"]; !a.Masked || a.Value != triage.Masked || l.Attributes["trace"].Value != "t" {
			t.Errorf("attributes are %+v", l.Attributes)
		}
		text, err := json.Marshal(l)
		if err != nil || bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("a secret is in %s, %v", text, err)
		}
		_, err = r.Letter(r.Context(), "nobody")
		r.wants(err, queue.ErrLetterNotFound)
	})
}

func TestBodiesAreTextOrBase64(t *testing.T) {
	test(t, nil, func(r *rig) {
		for body, isText := range map[string]bool{"{\"a\":\t1}\r\n": true, "é": true, "a\x00b": false, "\xff": false, "a\x1b[2J": false} {
			r.must(r.engine.Send(r.Context(), jobs, queue.SendInput{Body: []byte(body)}))
			l, err := r.Letter(r.Context(), r.reject("b")[0])
			r.must(l, err)
			if (l.Body.Text != nil) != isText || (l.Body.Base64 != nil) == isText || l.Body.Bytes != len(body) {
				t.Errorf("%q is shown as %+v", body, l.Body)
			}
			var out bytes.Buffer
			r.must(r.Export(r.Context(), ann, &out, queue.Selection{IDs: []string{l.ID}}))
			var back triage.Letter
			if err := json.Unmarshal(out.Bytes(), &back); err != nil {
				t.Fatal(err)
			}
			got := string(back.Body.Base64)
			if isText {
				got = *back.Body.Text
			}
			if got != body {
				t.Errorf("%q came back as %q", body, got)
			}
		}
	})
}

// Whatever is in which store, and however short the pages: every letter is
// listed once, and of two stores the newer letter comes first.
func TestPagesHoldEveryLetterOnce(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, fromQueue := range rapid.SliceOfN(rapid.Bool(), 0, 5).Draw(rt, "more") {
				switch {
				case r.count(queue.Selection{}) > 40: // enough
				case fromQueue:
					r.kill(1, "a")
				default:
					r.source.kept.add(1, bezoar.Crash)
				}
			}
			limit := rapid.IntRange(1, 7).Draw(rt, "limit")
			seen := map[string]bool{}
			var last time.Time
			for next, page := "", 0; page == 0 || next != ""; page++ {
				p, err := r.Letters(r.Context(), queue.Selection{}, next, limit)
				if err != nil {
					rt.Fatal(err)
				}
				if len(p.Letters) > limit || p.Next != "" && len(p.Letters) != limit {
					rt.Fatalf("a page of at most %d has %d, and then %q", limit, len(p.Letters), p.Next)
				}
				for _, l := range p.Letters {
					if seen[l.ID] || !last.IsZero() && l.Died.After(last) {
						rt.Fatalf("%s is there twice, or after an older one", l.ID)
					}
					if l.Body != nil || l.Attributes != nil || l.Attempts != nil {
						rt.Fatalf("a list carries %+v", l)
					}
					seen[l.ID], last = true, l.Died
				}
				next = p.Next
			}
			if n := r.count(queue.Selection{}); n != int64(len(seen)) {
				rt.Fatalf("listed %d of %d", len(seen), n)
			}
		})
	})
}

func TestGroupsOfAllShelvesAreTheNewestFirst(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		r.kill(2, "a")
		r.source.kept.add(1, bezoar.OOM)
		r.kill(1, "b")
		groups, err := r.Groups(r.Context(), queue.Selection{}, 0)
		r.must(groups, err)
		var got []string
		for _, g := range groups {
			got = append(got, fmt.Sprintf("%s %s %d", g.Queue, g.Class, g.Count))
		}
		if want := []string{dlq + " bug 1", "gateway:search oom 1", dlq + " bug 2"}; !slices.Equal(got, want) {
			t.Errorf("groups are %q, want %q", got, want)
		}
		if groups, err = r.Groups(r.Context(), queue.Selection{}, 2); err != nil || len(groups) != 2 {
			t.Errorf("of two groups %d came, %v", len(groups), err)
		}
		for _, limit := range []int{-1, triage.MaxGroups + 1} {
			_, err := r.Groups(r.Context(), queue.Selection{}, limit)
			r.wants(err, triage.ErrInvalid)
		}
	})
}

func FuzzNext(f *testing.F) {
	f.Add("")
	f.Add("eyIiOjF9")
	f.Add("bnVsbA")
	f.Add("!")
	db := newSource()
	d, err := triage.New(triage.Config{Queue: empty{}, Sources: []triage.Source{db}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, next string) {
		if _, err := d.Letters(t.Context(), queue.Selection{}, next, 1); err != nil && !errors.Is(err, triage.ErrInvalid) {
			t.Errorf("%q: %v", next, err)
		}
	})
}
