package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/queue"
)

// steering changes a running App for operators. Without live, only its circuit breakers can be changed.
type steering struct {
	a    *App
	live *live.Live
}

func (s steering) Status() live.Status { return s.live.Status() }

func (s steering) Versions(ctx context.Context, limit int) ([]live.Version, error) {
	found, err := s.live.History(ctx, limit)
	return found, s.answered("list versions", err)
}

func (s steering) Version(ctx context.Context, number int64) (live.Version, error) {
	v, err := s.live.Version(ctx, number)
	v.Text = s.a.shown(v.Text)
	return v, s.answered("read a version", err)
}

func (s steering) Diff(ctx context.Context, from, to int64) (adminapi.Diff, error) {
	to, err := s.orRunning(to)
	if err == nil && from == 0 {
		from, err = before(to)
	}
	if err != nil {
		return adminapi.Diff{}, err
	}
	text, err := s.compare(ctx, from, to)
	return adminapi.Diff{From: from, To: to, Text: text}, s.answered("compare versions", err)
}

func (s steering) compare(ctx context.Context, from, to int64) (string, error) {
	a, err := s.live.Version(ctx, from)
	if err != nil {
		return "", err
	}
	b, err := s.live.Version(ctx, to)
	if err != nil {
		return "", err
	}
	return live.DiffText(fmt.Sprintf("version %d", from), s.a.shown(a.Text), fmt.Sprintf("version %d", to), s.a.shown(b.Text)), nil
}

// Compare shows what applying a text would change in a version; 0 means the running one.
func (s steering) Compare(ctx context.Context, in adminapi.Compare) (adminapi.Diff, error) {
	from, err := s.orRunning(in.From)
	if err != nil {
		return adminapi.Diff{}, err
	}
	v, err := s.live.Version(ctx, from)
	if err != nil {
		return adminapi.Diff{}, s.answered("read a version", err)
	}
	text := s.live.Completed(v, in.Text)
	name := cmp.Or(clip(in.Name, 255), "the text")
	return adminapi.Diff{From: v.Number, Text: live.DiffText(fmt.Sprintf("version %d", v.Number), s.a.shown(v.Text), name, s.a.shown(text))}, nil
}

// orRunning returns the number of the version that runs here in place of 0.
func (s steering) orRunning(number int64) (int64, error) {
	if number != 0 {
		return number, nil
	}
	if n := s.live.Status().Running.Number; n > 0 {
		return n, nil
	}
	return 0, adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable,
		"the running settings are not in the store yet, which does not answer")
}

// before returns the version before number: versions have no gaps.
func before(number int64) (int64, error) {
	if number <= 1 {
		return 0, adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, "there is no version before version 1")
	}
	return number - 1, nil
}

func (s steering) Put(ctx context.Context, who admin.Who, in adminapi.PutSettings) (adminapi.Changed, error) {
	check := live.Version{By: who.Name, Source: live.FromAPI, Note: in.Note, Text: in.Text, Sum: live.Sum(in.Text)}
	if err := check.Validate(); err != nil {
		return adminapi.Changed{}, badRequest(err)
	}
	was := s.live.Status()
	var (
		v   live.Version
		err error
	)
	if in.Base != nil {
		v, err = s.live.PutIf(ctx, *in.Base, in.Text, who.Name, in.Note)
	} else {
		v, err = s.live.Put(ctx, in.Text, who.Name, in.Note)
	}
	out, err := s.changed(was, v, err)
	if err == nil {
		out.NextStart = s.nextStart(in.Text)
	}
	s.a.audit(ctx, who, "settings.put", object(v), struct {
		Base  *int64 `json:"base,omitempty"`
		Note  string `json:"note,omitempty"`
		Sum   string `json:"sum"`
		Error string `json:"error,omitempty"`
	}{in.Base, in.Note, check.Sum, out.Error}, err)
	return out, err
}

// Try shows what Put would do. Nothing changes, so nothing is audited.
func (s steering) Try(ctx context.Context, in adminapi.PutSettings) (adminapi.Tried, error) {
	base := int64(-1)
	if in.Base != nil {
		base = *in.Base
	}
	would, newest, err := s.live.Try(ctx, base, in.Text)
	if err != nil {
		return adminapi.Tried{}, s.answered("try settings", err)
	}
	return adminapi.Tried{
		Before: newest.Number, New: would.Number != newest.Number, NextStart: s.nextStart(in.Text),
		Diff: live.DiffText(fmt.Sprintf("version %d", newest.Number), s.a.shown(newest.Text), "the text", s.a.shown(would.Text)),
	}, nil
}

func (s steering) Rollback(ctx context.Context, who admin.Who, to int64) (adminapi.Changed, error) {
	was := s.live.Status()
	if to == 0 {
		running, err := s.orRunning(0)
		if err == nil {
			to, err = before(running)
		}
		if err != nil {
			return adminapi.Changed{}, err
		}
	}
	v, err := s.live.Rollback(ctx, to, who.Name)
	out, err := s.changed(was, v, err)
	if whole, lost := s.live.Version(ctx, v.Number); err == nil && lost == nil {
		out.NextStart = s.nextStart(whole.Text)
	}
	s.a.audit(ctx, who, "settings.rollback", object(v), struct {
		To    int64  `json:"to"`
		Error string `json:"error,omitempty"`
	}{to, out.Error}, err)
	return out, err
}

// nextStart names the settings of a valid text that apply only after a restart.
func (s steering) nextStart(text []byte) []string {
	cfg, _, err := s.a.parse(settingsName, text)
	if err != nil {
		return nil
	}
	return s.a.NeedsRestart(cfg)
}

// object names a version in the audit log.
func object(v live.Version) string {
	if v.Number == 0 {
		return "settings"
	}
	return fmt.Sprintf("settings version %d", v.Number)
}

// changed returns the result of a change that made v, or its error.
func (s steering) changed(was live.Status, v live.Version, err error) (adminapi.Changed, error) {
	if v.Number == 0 {
		return adminapi.Changed{}, s.answered("change the settings", err)
	}
	out := adminapi.Changed{Version: v, Before: was.Running.Number, New: v.Number > was.Wanted.Number}
	if err != nil {
		out.Error = err.Error()
	}
	return out, nil
}

// answered separates refusals from a store that does not answer. The log has details of the latter.
func (s steering) answered(what string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	for _, known := range []error{live.ErrNotFound, live.ErrConflict, live.ErrFull} {
		if errors.Is(err, known) {
			return err
		}
	}
	if _, ok := errors.AsType[*live.InvalidError](err); ok {
		return err
	}
	s.a.log.Error("the store of settings has failed", "what", what, "err", err)
	return adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable, what+": the store does not answer; see the log")
}

func badRequest(err error) error {
	return adminapi.NewProblem(http.StatusBadRequest, adminapi.CodeInvalid, strings.ReplaceAll(err.Error(), "\n", "; "))
}

func (s steering) Override(ctx context.Context, who admin.Who, in adminapi.SetOverride) (live.Override, error) {
	ttl := time.Duration(in.For)
	o := live.Override{
		Route: in.Route, Caller: in.Caller, Plan: in.Plan, Class: in.Class, Predictor: in.Predictor, Index: in.Index,
		What: in.What, Factor: in.Factor, Value: in.Value,
		Until: time.Now().Add(ttl), By: who.Name, Reason: in.Reason,
	}
	whole := o
	whole.ID = "ov-new"
	if err := cmp.Or(live.CheckOverride(whole, ttl), s.a.checkOverride(whole)); err != nil {
		return live.Override{}, badRequest(err)
	}
	kept, err := s.live.Override(ctx, o)
	err = s.answered("set an override", err)
	s.a.audit(ctx, who, "override.set", "override "+kept.ID, in, err)
	return kept, err
}

func (s steering) Lift(ctx context.Context, who admin.Who, id string) error {
	err := s.answered("lift an override", s.live.Lift(ctx, id))
	s.a.audit(ctx, who, "override.lift", "override "+id, nil, err)
	return err
}

func (s steering) Breakers() []circuit.Status { return s.a.protect.circuits.List() }

func (s steering) Force(ctx context.Context, who admin.Who, name string, in adminapi.ForceBreaker) (circuit.Status, error) {
	action, until := "breaker.reset", time.Time{}
	if in.For > 0 {
		action, until = "breaker.force", time.Now().Add(time.Duration(in.For))
	}
	err := s.a.protect.circuits.Force(ctx, name, in.State, until, who.Name)
	now, there := s.breaker(name)
	if err != nil && there && (now.Forced != nil) == (in.For > 0) && !errors.Is(err, circuit.ErrUnknown) {
		s.a.log.Warn("a circuit breaker was forced here; other nodes do not know it yet", "breaker", name, "by", who.Name, "err", err)
		now.Told, err = false, nil
	}
	s.a.audit(ctx, who, action, "breaker "+name, in, err)
	return now, err
}

func (s steering) breaker(name string) (circuit.Status, bool) {
	for _, b := range s.Breakers() {
		if b.Name == name {
			return b, true
		}
	}
	return circuit.Status{}, false
}

// auditPatience bounds the time for an entry of the audit log, whether or not the caller waits.
const auditPatience = 5 * time.Second

// audit records what somebody did or tried to do. If the audit log fails, the operator sees it.
func (a *App) audit(ctx context.Context, who admin.Who, action, object string, detail any, failed error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditPatience)
	defer cancel()
	e := queue.AuditEntry{Actor: clip(who.String(), 256), Action: action, Object: clip(object, 256)}
	if detail != nil {
		e.Detail, _ = json.Marshal(detail) // it consists of texts and numbers that were just decoded
	}
	if failed != nil {
		e.Error = clip(failed.Error(), 1024)
	}
	if _, err := a.queues.Audit(ctx, e); err != nil {
		a.log.Error("the audit log could not be written", "actor", e.Actor, "action", action, "object", e.Object,
			"detail", string(e.Detail), "outcome", e.Error, "err", err)
	}
}

// clip shortens text from outside, and replaces what some stores cannot keep.
func clip(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}
