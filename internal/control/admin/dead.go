package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// deadRoutes returns the handlers of the calls about dead letters, by pattern.
func (s *Server) deadRoutes() map[string]handler {
	t := s.cfg.Triage
	if t == nil {
		return nil
	}
	return map[string]handler{
		"GET " + adminapi.PathDeadGroups: asked(s.deadGroups),
		"GET " + adminapi.PathDead:       asked(s.deadLetters),
		"GET " + adminapi.PathDeadLetter: asked(func(r *http.Request) (any, error) { return t.Letter(r.Context(), r.PathValue("id")) }),
		"POST " + adminapi.PathDeadEdit: ordered(http.StatusOK, func(r *http.Request, e *triage.Edit) (any, error) {
			return t.EditLetter(r.Context(), actor(r), r.PathValue("id"), *e)
		}),
		"POST " + adminapi.PathDeadPlans: ordered(http.StatusCreated, func(r *http.Request, o *adminapi.Order) (any, error) {
			return t.Plan(r.Context(), actor(r), o.Verb, o.Selection, o.Options)
		}),
		"GET " + adminapi.PathDeadPlan: asked(func(r *http.Request) (any, error) { return t.PlanByID(r.Context(), r.PathValue("id")) }),
		"POST " + adminapi.PathDeadExecute: begun(http.StatusAccepted, func(r *http.Request) (any, error) {
			tasks, err := t.Execute(r.Context(), actor(r), r.PathValue("id"))
			return adminapi.Tasks{Tasks: list(tasks)}, err
		}),
		"POST " + adminapi.PathDeadDo: ordered(http.StatusAccepted, func(r *http.Request, o *adminapi.Order) (any, error) {
			tasks, err := s.order(r.Context(), actor(r), *o)
			return adminapi.Tasks{Tasks: list(tasks)}, err
		}),
		// It clears the suspicion against the payloads of letters.
		"POST " + adminapi.PathDeadPardon: ordered(http.StatusOK, func(r *http.Request, sel *queue.Selection) (any, error) {
			n, err := t.Pardon(r.Context(), actor(r), *sel)
			return adminapi.Pardoned{Payloads: n}, err
		}),
		"GET " + adminapi.PathDeadTasks: asked(s.tasks),
		"GET " + adminapi.PathDeadTask:  asked(func(r *http.Request) (any, error) { return t.Task(r.Context(), r.PathValue("id")) }),
		"POST " + adminapi.PathDeadTask: ordered(http.StatusOK, s.changeTask),
		"GET " + adminapi.PathAudit:     asked(s.audit),
	}
}

// actor returns the maker of a call, as far as the call tells.
func actor(r *http.Request) triage.Actor { return triage.Actor(who(r).String()) }

// selection parses the parameters written by adminapi.SelectionQuery, beside others.
func selection(r *http.Request, others ...string) (queue.Selection, *query) {
	q := known(r, append(others, "queue", "origin", "class", "group", "id", "after", "before", "body", "reason", "attribute")...)
	s := queue.Selection{
		Queue: q.Get("queue"), Origin: q.Get("origin"), Class: q.Get("class"), Groups: q.Values["group"], IDs: q.Values["id"],
		Body: q.Get("body"), Reason: q.Get("reason"),
	}
	for _, given := range q.Values["attribute"] {
		name, value, ok := strings.Cut(given, "=")
		if _, twice := s.Attributes[name]; !ok || twice {
			q.fail(invalid("attribute %.60q is not NAME=VALUE, or its name is repeated", given))
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
		var err error
		if *to, err = time.Parse(time.RFC3339Nano, text); err != nil {
			q.fail(invalid("%s %.60q is not a time such as 2026-11-28T10:00:00Z", name, text))
		}
	}
	return s, q
}

func (s *Server) deadGroups(r *http.Request) (any, error) {
	sel, q := selection(r, "limit")
	limit := q.number("limit", 1, triage.MaxGroups)
	if q.err != nil {
		return nil, q.err
	}
	groups, err := s.cfg.Triage.Groups(r.Context(), sel, limit)
	return adminapi.DeadGroups{Groups: list(groups)}, err
}

func (s *Server) deadLetters(r *http.Request) (any, error) {
	sel, q := selection(r, "limit", "cursor")
	limit := q.number("limit", 1, triage.MaxLetters)
	if q.err != nil {
		return nil, q.err
	}
	page, err := s.cfg.Triage.Letters(r.Context(), sel, q.Get("cursor"), limit)
	page.Letters = list(page.Letters)
	return page, err
}

// order executes an order on named letters, or on a selection whose size the caller states.
func (s *Server) order(ctx context.Context, who triage.Actor, o adminapi.Order) ([]triage.Task, error) {
	t := s.cfg.Triage
	if o.Expect != 0 {
		return t.Do(ctx, who, o.Verb, o.Selection, o.Options, o.Expect)
	}
	if len(o.Selection.IDs) == 0 {
		return nil, invalid("expect: state the number of letters, or name them in selection.ids")
	}
	switch o.Verb {
	case triage.Redrive, triage.Discard, triage.Restore:
		return t.DoLetters(ctx, who, o.Verb, o.Selection.IDs, o.Options)
	}
	return nil, invalid("verb %.40q is not one of redrive, discard and restore", string(o.Verb))
}

func (s *Server) tasks(r *http.Request) (any, error) {
	q := known(r, "live", "limit")
	limit, live := q.number("limit", 1, triage.MaxLetters), false
	if text := q.Get("live"); text != "" {
		var err error
		if live, err = strconv.ParseBool(text); err != nil {
			q.fail(invalid("live %.20q is not true or false", text))
		}
	}
	if q.err != nil {
		return nil, q.err
	}
	tasks, err := s.cfg.Triage.Tasks(r.Context(), triage.TaskQuery{Live: live, SQS: true, Limit: limit})
	return adminapi.Tasks{Tasks: list(tasks)}, err
}

func (s *Server) changeTask(r *http.Request, o *adminapi.TaskOrder) (any, error) {
	ctx, who, id, svc := r.Context(), actor(r), r.PathValue("id"), s.cfg.Triage
	switch o.Action {
	case "pause":
		return svc.Pause(ctx, who, id)
	case "resume":
		return svc.Resume(ctx, who, id)
	case "cancel":
		return svc.Cancel(ctx, who, id)
	case "rate":
		return svc.SetRate(ctx, who, id, o.Rate)
	}
	return nil, invalid("action %.40q is not one of pause, resume, cancel and rate", o.Action)
}

func (s *Server) audit(r *http.Request) (any, error) {
	q := known(r, "before", "limit")
	before, limit := q.number("before", 0, 1<<62), q.number("limit", 1, triage.MaxLetters)
	if q.err != nil {
		return nil, q.err
	}
	entries, err := s.cfg.Triage.AuditLog(r.Context(), int64(before), limit)
	return adminapi.Audit{Entries: list(entries)}, err
}

func (s *Server) listAlarms(context.Context) (any, error) {
	var alarms []adminapi.Alarm
	if s.cfg.Alarms != nil {
		alarms = s.cfg.Alarms()
	}
	return adminapi.Alarms{Alarms: list(alarms)}, nil
}

// export streams letters. If an error occurs in the middle, it aborts the response, so that
// the client notices.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	sel, q := selection(r)
	if q.err != nil {
		return q.err
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
