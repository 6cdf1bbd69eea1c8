package triage_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

func text(s string) *triage.Body { return &triage.Body{Text: &s} }

func TestAnEditReplacesTheLetterInOneStep(t *testing.T) {
	test(t, nil, func(r *rig) {
		id := r.kill(1, "a")[0]
		l, err := r.Letter(r.Context(), id)
		r.must(l, err)
		l.Attributes["trace"] = triage.Attribute{Type: "String", Value: "other"}
		out, err := r.EditLetter(r.Context(), ann, id, triage.Edit{Version: l.Version, Body: text("fixed"), Attributes: l.Attributes, Reason: "typo"})
		r.must(out, err)
		if out.Letter != id || out.Destination != jobs || out.ID == "" || out.ID == id {
			t.Errorf("edited %+v", out)
		}
		m := r.receive()
		if len(m) != 1 || string(m[0].Body) != "fixed" || m[0].Attributes["trace"].String != "other" {
			t.Fatalf("received %+v", m)
		}
		if m[0].Attributes["Authorization"].String != "hunter2" {
			t.Errorf("a masked value became %q", m[0].Attributes["Authorization"].String)
		}
		if n := m[0].Lineage; n == nil || n.Parent != id || n.Root != id || n.Times != 1 || !n.Edited {
			t.Errorf("the lineage is %+v", n)
		}
		old, err := r.Letter(r.Context(), id)
		if err != nil || old.Queue != queue.TrashQueue || old.Discarded.Into != out.ID {
			t.Errorf("the letter is now %+v, %v", old, err)
		}
		if e := r.log("letter.edit"); e.Actor != "ann" || e.Object != id || !strings.Contains(string(e.Detail), "typo") || !strings.Contains(string(e.Detail), out.ID) {
			t.Errorf("the log says %+v", e)
		}
		_, err = r.EditLetter(r.Context(), ann, id, triage.Edit{Version: old.Version, Body: text("again")})
		r.wants(err, triage.ErrInvalid)
	})
}

func TestAnEditOfWhatHasChangedIsRefused(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		id := r.kill(1, "a")[0]
		l, err := r.Letter(r.Context(), id)
		r.must(l, err)
		m, err := r.engine.Receive(r.Context(), dlq, queue.ReceiveInput{})
		r.must(m, err)
		_, err = r.EditLetter(r.Context(), ann, id, triage.Edit{Version: l.Version, Body: text("x")})
		r.wants(err, queue.ErrConflict)
		if e := r.log("letter.edit"); e.Error == "" || e.Object != id {
			t.Errorf("the refusal in the log: %+v", e)
		}
		_, err = r.EditLetter(r.Context(), ann, id, triage.Edit{Body: text("x")})
		r.wants(err, triage.ErrInvalid)
		_, err = r.EditLetter(r.Context(), ann, "nobody", triage.Edit{Version: "1"})
		r.wants(err, queue.ErrLetterNotFound)
		_, err = r.EditLetter(r.Context(), ann, r.source.kept.add(1, bezoar.Crash)[0], triage.Edit{Version: "1"})
		r.wants(err, triage.ErrUnsupported)
	})
}

func TestAnEditKeepsWhatIsNotNamed(t *testing.T) {
	test(t, nil, func(r *rig) {
		id := r.kill(1, "a")[0]
		l, err := r.Letter(r.Context(), id)
		r.must(l, err)
		invented := map[string]triage.Attribute{"Token": {Type: "String", Value: triage.Masked}}
		_, err = r.EditLetter(r.Context(), ann, id, triage.Edit{Version: l.Version, Attributes: invented})
		r.wants(err, triage.ErrInvalid)
		two := map[string]triage.Attribute{"x": {Type: "String", Value: "a", Binary: []byte("b")}}
		_, err = r.EditLetter(r.Context(), ann, id, triage.Edit{Version: l.Version, Attributes: two})
		r.wants(err, triage.ErrInvalid)

		r.must(r.EditLetter(r.Context(), ann, id, triage.Edit{Version: l.Version}))
		if m := r.receive(); len(m) != 1 || string(m[0].Body) != "body 0 of a" || len(m[0].Attributes) != 2 {
			t.Errorf("received %+v", m)
		}
	})
}
