package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// Triage manages dead letters. *triage.Service implements it.
type Triage interface {
	Letters
	Redrives
	Tasks
}

// Letters shows and changes dead letters.
type Letters interface {
	Count(ctx context.Context, s queue.Selection) (int64, error)
	Groups(ctx context.Context, s queue.Selection, limit int) ([]queue.Group, error)
	Letters(ctx context.Context, s queue.Selection, next string, limit int) (triage.Page, error)
	Letter(ctx context.Context, id string) (triage.Letter, error)
	EditLetter(ctx context.Context, who triage.Actor, id string, e triage.Edit) (triage.Edited, error)
	Pardon(ctx context.Context, who triage.Actor, s queue.Selection) (int, error)
	Export(ctx context.Context, who triage.Actor, w io.Writer, s queue.Selection) (int64, error)
	AuditLog(ctx context.Context, before int64, limit int) ([]queue.AuditEntry, error)
}

// Redrives plans and starts operations on many letters.
type Redrives interface {
	Plan(ctx context.Context, who triage.Actor, v triage.Verb, s queue.Selection, o triage.Options) (triage.Plan, error)
	PlanByID(ctx context.Context, id string) (triage.Plan, error)
	Execute(ctx context.Context, who triage.Actor, plan string) ([]triage.Task, error)
	Do(ctx context.Context, who triage.Actor, v triage.Verb, s queue.Selection, o triage.Options, expect int64) ([]triage.Task, error)
	RedriveLetters(ctx context.Context, who triage.Actor, ids []string, o triage.Options) ([]triage.Task, error)
	DiscardLetters(ctx context.Context, who triage.Actor, ids []string, o triage.Options) ([]triage.Task, error)
	RestoreLetters(ctx context.Context, who triage.Actor, ids []string, o triage.Options) ([]triage.Task, error)
}

// Tasks shows and controls running operations.
type Tasks interface {
	Tasks(ctx context.Context, q triage.TaskQuery) ([]triage.Task, error)
	Task(ctx context.Context, id string) (triage.Task, error)
	Pause(ctx context.Context, who triage.Actor, id string) (triage.Task, error)
	Resume(ctx context.Context, who triage.Actor, id string) (triage.Task, error)
	Cancel(ctx context.Context, who triage.Actor, id string) (triage.Task, error)
	SetRate(ctx context.Context, who triage.Actor, id string, rate int) (triage.Task, error)
}

// deadRoutes returns the handlers of the calls about dead letters, by pattern.
func (s *Server) deadRoutes() map[string]handler {
	if s.cfg.Triage == nil {
		return nil
	}
	return map[string]handler{
		"GET " + adminapi.PathDeadGroups:   s.deadGroups,
		"GET " + adminapi.PathDead:         s.deadLetters,
		"GET " + adminapi.PathDeadLetter:   s.deadLetter,
		"POST " + adminapi.PathDeadEdit:    s.editLetter,
		"POST " + adminapi.PathDeadPlans:   s.plan,
		"GET " + adminapi.PathDeadPlan:     s.showPlan,
		"POST " + adminapi.PathDeadExecute: s.execute,
		"POST " + adminapi.PathDeadDo:      s.do,
		"POST " + adminapi.PathDeadPardon:  s.pardonLetters,
		"GET " + adminapi.PathDeadTasks:    s.tasks,
		"GET " + adminapi.PathDeadTask:     s.task,
		"POST " + adminapi.PathDeadTask:    s.changeTask,
		"GET " + adminapi.PathAudit:        s.audit,
	}
}

// actor returns the maker of a call, as far as the call tells.
func actor(r *http.Request) triage.Actor { return triage.Actor(who(r).String()) }

// selection parses the parameters written by adminapi.SelectionQuery, beside others.
func selection(r *http.Request, others ...string) (queue.Selection, url.Values, error) {
	q, err := known(r.URL, append(others, "queue", "origin", "class", "group", "id", "after", "before", "body", "reason", "attribute")...)
	if err != nil {
		return queue.Selection{}, nil, err
	}
	s := queue.Selection{
		Queue: q.Get("queue"), Origin: q.Get("origin"), Class: q.Get("class"), Groups: q["group"], IDs: q["id"],
		Body: q.Get("body"), Reason: q.Get("reason"),
	}
	for _, given := range q["attribute"] {
		name, value, ok := strings.Cut(given, "=")
		if _, twice := s.Attributes[name]; !ok || twice {
			return s, nil, invalid("attribute %.60q is not NAME=VALUE, or its name is repeated", given)
		}
		if s.Attributes == nil {
			s.Attributes = make(map[string]string)
		}
		s.Attributes[name] = value
	}
	for name, to := range map[string]*time.Time{"after": &s.After, "before": &s.Before} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		if *to, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return s, nil, invalid("%s %.60q is not a time such as 2026-11-28T10:00:00Z", name, text)
		}
	}
	return s, q, nil
}

func (s *Server) deadGroups(w http.ResponseWriter, r *http.Request) error {
	sel, q, err := selection(r, "limit")
	if err != nil {
		return err
	}
	limit, err := number(q, "limit", 1, triage.MaxGroups)
	if err != nil {
		return err
	}
	groups, err := s.cfg.Triage.Groups(r.Context(), sel, limit)
	return answer(w, http.StatusOK, adminapi.DeadGroups{Groups: list(groups)}, err)
}

func (s *Server) deadLetters(w http.ResponseWriter, r *http.Request) error {
	sel, q, err := selection(r, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, err := number(q, "limit", 1, triage.MaxLetters)
	if err != nil {
		return err
	}
	page, err := s.cfg.Triage.Letters(r.Context(), sel, q.Get("cursor"), limit)
	if err != nil {
		return err
	}
	page.Letters = list(page.Letters)
	return reply(w, http.StatusOK, page)
}

func (s *Server) deadLetter(w http.ResponseWriter, r *http.Request) error {
	l, err := s.cfg.Triage.Letter(r.Context(), r.PathValue("id"))
	return answer(w, http.StatusOK, l, err)
}

func (s *Server) editLetter(w http.ResponseWriter, r *http.Request) error {
	var e triage.Edit
	if err := decode(w, r, &e); err != nil {
		return err
	}
	edited, err := s.cfg.Triage.EditLetter(r.Context(), actor(r), r.PathValue("id"), e)
	return answer(w, http.StatusOK, edited, err)
}

func (s *Server) plan(w http.ResponseWriter, r *http.Request) error {
	var o adminapi.Order
	if err := decode(w, r, &o); err != nil {
		return err
	}
	p, err := s.cfg.Triage.Plan(r.Context(), actor(r), o.Verb, o.Selection, o.Options)
	return answer(w, http.StatusCreated, p, err)
}

func (s *Server) showPlan(w http.ResponseWriter, r *http.Request) error {
	p, err := s.cfg.Triage.PlanByID(r.Context(), r.PathValue("id"))
	return answer(w, http.StatusOK, p, err)
}

func (s *Server) execute(w http.ResponseWriter, r *http.Request) error {
	tasks, err := s.cfg.Triage.Execute(r.Context(), actor(r), r.PathValue("id"))
	return answer(w, http.StatusAccepted, adminapi.Tasks{Tasks: list(tasks)}, err)
}

// do executes an order on named letters, or on a selection whose size the caller states.
func (s *Server) do(w http.ResponseWriter, r *http.Request) error {
	var o adminapi.Order
	if err := decode(w, r, &o); err != nil {
		return err
	}
	tasks, err := s.order(r.Context(), actor(r), o)
	return answer(w, http.StatusAccepted, adminapi.Tasks{Tasks: list(tasks)}, err)
}

// pardonLetters clears the suspicion against the payloads of letters.
func (s *Server) pardonLetters(w http.ResponseWriter, r *http.Request) error {
	var sel queue.Selection
	if err := decode(w, r, &sel); err != nil {
		return err
	}
	n, err := s.cfg.Triage.Pardon(r.Context(), actor(r), sel)
	return answer(w, http.StatusOK, adminapi.Pardoned{Payloads: n}, err)
}

func (s *Server) order(ctx context.Context, who triage.Actor, o adminapi.Order) ([]triage.Task, error) {
	t := s.cfg.Triage
	if o.Expect != 0 {
		return t.Do(ctx, who, o.Verb, o.Selection, o.Options, o.Expect)
	}
	if len(o.Selection.IDs) == 0 {
		return nil, invalid("expect: state the number of letters, or name them in selection.ids")
	}
	switch o.Verb {
	case triage.Redrive:
		return t.RedriveLetters(ctx, who, o.Selection.IDs, o.Options)
	case triage.Discard:
		return t.DiscardLetters(ctx, who, o.Selection.IDs, o.Options)
	case triage.Restore:
		return t.RestoreLetters(ctx, who, o.Selection.IDs, o.Options)
	}
	return nil, invalid("verb %.40q is not one of redrive, discard and restore", string(o.Verb))
}

func (s *Server) tasks(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "live", "limit")
	if err != nil {
		return err
	}
	limit, err := number(q, "limit", 1, triage.MaxLetters)
	if err != nil {
		return err
	}
	live := false
	if text := q.Get("live"); text != "" {
		if live, err = strconv.ParseBool(text); err != nil {
			return invalid("live %.20q is not true or false", text)
		}
	}
	tasks, err := s.cfg.Triage.Tasks(r.Context(), triage.TaskQuery{Live: live, SQS: true, Limit: limit})
	return answer(w, http.StatusOK, adminapi.Tasks{Tasks: list(tasks)}, err)
}

func (s *Server) task(w http.ResponseWriter, r *http.Request) error {
	t, err := s.cfg.Triage.Task(r.Context(), r.PathValue("id"))
	return answer(w, http.StatusOK, t, err)
}

func (s *Server) changeTask(w http.ResponseWriter, r *http.Request) error {
	var o adminapi.TaskOrder
	if err := decode(w, r, &o); err != nil {
		return err
	}
	ctx, who, id, svc := r.Context(), actor(r), r.PathValue("id"), s.cfg.Triage
	var t triage.Task
	var err error
	switch o.Action {
	case "pause":
		t, err = svc.Pause(ctx, who, id)
	case "resume":
		t, err = svc.Resume(ctx, who, id)
	case "cancel":
		t, err = svc.Cancel(ctx, who, id)
	case "rate":
		t, err = svc.SetRate(ctx, who, id, o.Rate)
	default:
		err = invalid("action %.40q is not one of pause, resume, cancel and rate", o.Action)
	}
	return answer(w, http.StatusOK, t, err)
}

func (s *Server) audit(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "before", "limit")
	if err != nil {
		return err
	}
	before, err := number(q, "before", 0, 1<<62)
	if err != nil {
		return err
	}
	limit, err := number(q, "limit", 1, triage.MaxLetters)
	if err != nil {
		return err
	}
	entries, err := s.cfg.Triage.AuditLog(r.Context(), int64(before), limit)
	return answer(w, http.StatusOK, adminapi.Audit{Entries: list(entries)}, err)
}

func (s *Server) listAlarms(w http.ResponseWriter, r *http.Request) error {
	if _, err := known(r.URL); err != nil {
		return err
	}
	var alarms []adminapi.Alarm
	if s.cfg.Alarms != nil {
		alarms = s.cfg.Alarms()
	}
	return reply(w, http.StatusOK, adminapi.Alarms{Alarms: list(alarms)})
}

// export streams letters. If an error occurs in the middle, it aborts the response, so that
// the client notices.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	sel, _, err := selection(r)
	if err != nil {
		return err
	}
	if _, err := s.cfg.Triage.Groups(r.Context(), sel, 1); err != nil {
		return err // the response has not begun
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	if _, err := s.cfg.Triage.Export(r.Context(), actor(r), w, sel); err != nil {
		s.log.Error("export was interrupted", "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// triageProblem converts an error of triage to a problem document, or returns nil for other
// errors.
func triageProblem(err error) *adminapi.Problem {
	status, code := http.StatusBadRequest, adminapi.CodeInvalid
	switch triage.CodeOf(err) {
	case "":
		return nil
	case triage.ErrPlanNotFound, triage.ErrNothing:
		status, code = http.StatusNotFound, adminapi.CodeNotFound
	case triage.ErrPlanUsed:
		status, code = http.StatusConflict, adminapi.CodeConflict
	case triage.ErrPlanChanged:
		status, code = http.StatusConflict, adminapi.CodePlanChanged
	}
	if changed, ok := errors.AsType[*triage.ChangedError](err); ok {
		return adminapi.NewProblem(status, code, fmt.Sprintf("%d letters were planned, and there are %d now; make a new plan", changed.Planned, changed.Now))
	}
	return adminapi.NewProblem(status, code, err.Error())
}
