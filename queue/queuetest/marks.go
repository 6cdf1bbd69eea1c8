package queuetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/queue"
)

func markTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"Marks": testMarks, "MarkExpires": testMarkExpires, "MarkRefused": testMarkRefused,
		"Audit": testAudit, "AuditRefused": testAuditRefused,
	}
}

func (r *rig) mark(key string, version int64, doc string) queue.Mark {
	r.Helper()
	m, err := r.store.PutMark(r.ctx(), queue.Mark{Key: key, Version: version, Doc: []byte(doc), TTL: time.Minute})
	r.must(err)
	return m
}

func (r *rig) wantMarks(prefix string, want ...string) []queue.Mark {
	r.Helper()
	all, err := r.store.Marks(r.ctx(), prefix)
	r.must(err)
	got := each.Of(all, func(m queue.Mark) string { return m.Key })
	r.fatalIf(fmt.Sprint(got) != fmt.Sprint(want), "marks like %q are %v, want %v", prefix, got, want)
	return all
}

func testMarks(r *rig) {
	first := r.mark("breaker/b", 0, `{"n":1}`)
	r.errorIf(first.Key != "breaker/b" || first.Version < 1 || string(first.Doc) != `{"n":1}` || first.TTL <= 0 || first.TTL > time.Minute, "put %+v", first)
	r.mark("breaker/a", 0, `1`)
	r.mark("breaker_c", 0, `2`)
	r.mark("other %", 0, `3`)
	for _, version := range []int64{0, first.Version + 1000} {
		there, err := r.store.PutMark(r.ctx(), queue.Mark{Key: "breaker/b", Version: version, Doc: []byte(`9`), TTL: time.Minute})
		r.errorIf(!errors.Is(err, queue.ErrConflict) || there.Version != first.Version || string(there.Doc) != `{"n":1}`, "put over version %d: %+v, %v", version, there, err)
	}
	second := r.mark("breaker/b", first.Version, `{"n":2}`)
	r.errorIf(second.Version == first.Version, "the version did not change")
	if _, err := r.store.PutMark(r.ctx(), queue.Mark{Key: "new", Version: 7, Doc: []byte(`9`), TTL: time.Minute}); !errors.Is(err, queue.ErrConflict) {
		r.Errorf("a version of what is not there = %v", err)
	}
	r.age(10 * time.Second)
	all := r.wantMarks("breaker/", "breaker/a", "breaker/b")
	if m := all[1]; m.Version != second.Version || string(m.Doc) != `{"n":2}` || m.Age < 10*time.Second || m.TTL > 50*time.Second || m.TTL < 30*time.Second {
		r.Errorf("read %+v", m)
	}
	r.wantMarks("", "breaker/a", "breaker/b", "breaker_c", "other %")
	r.wantMarks("other %", "other %")
	r.wantMarks("%")
	r.wantErr(r.store.DeleteMark(r.ctx(), "breaker/b", first.Version), queue.ErrConflict)
	r.must(r.store.DeleteMark(r.ctx(), "breaker/b", second.Version))
	r.must(r.store.DeleteMark(r.ctx(), "breaker/b", second.Version))
	r.must(r.store.DeleteMark(r.ctx(), "breaker/a", 0))
	r.wantMarks("breaker/")
	again := r.mark("breaker/b", 0, `5`)
	r.errorIf(again.Version == first.Version || again.Version == second.Version, "a version is used again: who remembers it would take this mark for the old one")
}

func testMarkExpires(r *rig) {
	old := r.mark("a", 0, `1`)
	r.age(time.Minute)
	r.wantMarks("")
	_, err := r.store.PutMark(r.ctx(), queue.Mark{Key: "a", Version: old.Version, Doc: []byte(`2`), TTL: time.Minute})
	r.wantErr(err, queue.ErrConflict)
	r.must(r.store.DeleteMark(r.ctx(), "a", old.Version+1)) // is not there
	r.errorIf(r.mark("a", 0, `2`).Version == old.Version, "its version is used again")
	r.clean()
	r.wantMarks("", "a")
	r.age(time.Minute)
	r.clean()
	r.wantMarks("")
}

func testMarkRefused(r *rig) {
	for name, m := range map[string]queue.Mark{
		"no key":        {Doc: []byte(`1`), TTL: time.Minute},
		"long key":      {Key: strings.Repeat("k", 256), Doc: []byte(`1`), TTL: time.Minute},
		"key not ASCII": {Key: "ü", Doc: []byte(`1`), TTL: time.Minute},
		"no time":       {Key: "k", Doc: []byte(`1`)},
		"no JSON":       {Key: "k", Doc: []byte(`{`), TTL: time.Minute},
		"large":         {Key: "k", Doc: []byte(`"` + strings.Repeat("x", 64<<10) + `"`), TTL: time.Minute},
	} {
		if _, err := r.store.PutMark(r.ctx(), m); !errors.Is(err, queue.ErrInvalid) {
			r.Errorf("%s: %v", name, err)
		}
	}
	r.mark(strings.Repeat("k", 255), 0, `"`+strings.Repeat("x", 64<<10-2)+`"`)
}

// Many count on one mark, and none is lost.
func testMarksTogether(r *rig) {
	const each, many = 12, 8
	r.together(many, func(int) error {
		for range each {
			for {
				all, err := r.store.Marks(r.ctx(), "count")
				if err != nil {
					return err
				}
				m, n := queue.Mark{Key: "count", TTL: time.Minute}, 0
				if len(all) > 0 {
					m.Version = all[0].Version
					if err := json.Unmarshal(all[0].Doc, &n); err != nil {
						return err
					}
				}
				m.Doc = fmt.Append(nil, n+1)
				if _, err = r.store.PutMark(r.ctx(), m); err == nil {
					break
				}
				if !errors.Is(err, queue.ErrConflict) {
					return err
				}
			}
		}
		return nil
	})
	if m := r.wantMarks("", "count"); string(m[0].Doc) != fmt.Sprint(each*many) {
		r.Errorf("counted to %s, want %d", m[0].Doc, each*many)
	}
}

func testAudit(r *rig) {
	in := queue.AuditEntry{Number: 99, Actor: "ann", Action: "redrive.start", Object: "jobs-dlq", Detail: json.RawMessage(`{"n":5}`), Error: "ü"}
	first, err := r.store.Audit(r.ctx(), in)
	r.must(err)
	r.errorIf(first.Number < 1 || first.At.IsZero() || first.At.Location() != time.UTC || first.Actor != "ann" || string(first.Detail) != `{"n":5}`, "logged %+v", first)
	for i := range 4 {
		r.must(second(r.store.Audit(r.ctx(), queue.AuditEntry{Action: fmt.Sprint("a", i)})))
	}
	log := func(before int64, limit int) []queue.AuditEntry {
		r.Helper()
		all, err := r.store.AuditLog(r.ctx(), before, limit)
		r.must(err)
		return all
	}
	all := log(0, 10)
	r.fatalIf(len(all) != 5 || all[0].Action != "a3" || all[3].Action != "a0" || all[0].Number <= all[1].Number, "the log is %+v", all)
	last := all[4]
	r.errorIf(last.Number != first.Number || !last.At.Equal(first.At) || last.Object != in.Object || last.Error != in.Error || last.Action != in.Action, "the first entry is %+v, want %+v", last, first)
	var detail struct{ N int }
	if err := json.Unmarshal(last.Detail, &detail); err != nil || detail.N != 5 || all[0].Detail != nil {
		r.Errorf("details %s, %s: %v", last.Detail, all[0].Detail, err)
	}
	if page := log(all[1].Number, 2); len(page) != 2 || page[0].Number != all[2].Number {
		r.Errorf("a page is %+v", page)
	}
	if rest := log(first.Number, 10); len(rest) > 0 {
		r.Errorf("before the first there are %+v", rest)
	}
}

func testAuditRefused(r *rig) {
	for name, e := range map[string]queue.AuditEntry{
		"actor":   {Actor: strings.Repeat("a", 257)},
		"detail":  {Detail: json.RawMessage(`"` + strings.Repeat("x", 16<<10) + `"`)},
		"no JSON": {Detail: json.RawMessage(`{`)},
	} {
		if _, err := r.store.Audit(r.ctx(), e); !errors.Is(err, queue.ErrInvalid) {
			r.Errorf("%s: %v", name, err)
		}
	}
}

func testAuditTogether(r *rig) {
	r.together(64, func(i int) error { return second(r.store.Audit(r.ctx(), queue.AuditEntry{Action: fmt.Sprint(i)})) })
	all, err := r.store.AuditLog(r.ctx(), 0, 100)
	r.must(err)
	seen := map[string]bool{}
	for i, e := range all {
		seen[e.Action] = true
		if i > 0 && e.Number >= all[i-1].Number {
			r.Errorf("number %d after %d", e.Number, all[i-1].Number)
		}
	}
	r.errorIf(len(seen) != 64, "%d of 64 entries are there", len(seen))
}
