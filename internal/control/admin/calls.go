package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

func (s *Server) listVerdicts(r *http.Request) (any, error) {
	q := known(r, "fleet")
	if q.err != nil {
		return nil, q.err
	}
	verdicts, err := s.backend.Verdicts(r.Context(), q.Get("fleet"))
	return adminapi.Verdicts{Verdicts: list(verdicts)}, wrap("list verdicts", err)
}

func (s *Server) addVerdict(r *http.Request, a *adminapi.Add) (any, error) {
	if err := checkAdd(*a); err != nil {
		return nil, err
	}
	v, err := s.backend.Quarantine(r.Context(), *a)
	detail := about(v)
	detail.For, detail.Reason = a.For, a.Reason
	s.written(r, "quarantine.add", strings.TrimSpace("verdict "+v.ID), detail, err)
	return v, wrap("add verdict", err)
}

// checkAdd validates an Add and returns all faults at once.
func checkAdd(a adminapi.Add) error {
	var errs faults.List
	named := 0
	for _, is := range []bool{!a.Fingerprint.IsZero(), !a.Shape.IsZero(), a.Request != nil} {
		if is {
			named++
		}
	}
	errs.If(named != 1, "name exactly one of fingerprint, shape and request")
	errs.If(!a.Variant.IsZero() && a.Fingerprint.IsZero(), "variant needs the fingerprint to which it belongs")
	errs.If(a.Request != nil && (a.Request.Method == "" || a.Request.Target == ""), "request needs a method and a target")
	errs.If(a.Request != nil && len(a.Request.Body) > adminapi.MaxAddBody, "request.body may have at most %d bytes", adminapi.MaxAddBody)
	if d := time.Duration(a.For); d < 0 {
		errs = append(errs, fmt.Errorf("for %v is negative", d))
	}
	errs.If(len(a.Reason) > adminapi.MaxReasonLength, "reason may have at most %d bytes", adminapi.MaxReasonLength)
	if err := errors.Join(errs...); err != nil {
		return invalid("%v", err)
	}
	return nil
}

func (s *Server) release(r *http.Request) error {
	id := r.PathValue("id")
	v, _ := s.backend.Verdict(r.Context(), id) // for the audit log
	err := s.backend.Release(r.Context(), id)
	s.written(r, "quarantine.release", "verdict "+id, about(v), err)
	return wrap("release verdict", err)
}

func (s *Server) listLetters(r *http.Request) (any, error) {
	q := known(r, "fleet", "limit", "offset", "fingerprint")
	lq := ledger.LetterQuery{Fleet: q.Get("fleet"), Limit: q.number("limit", 1, adminapi.MaxLetterLimit), Offset: q.number("offset", 0, 1<<31-1)}
	if q.err != nil {
		return nil, q.err
	}
	if err := lq.Fingerprint.UnmarshalText([]byte(q.Get("fingerprint"))); err != nil {
		return nil, invalid("%v", err)
	}
	letters, err := s.backend.Letters(r.Context(), lq)
	return adminapi.Letters{Letters: list(letters)}, wrap("list letters", err)
}

func (s *Server) discard(r *http.Request) error {
	id := r.PathValue("id")
	err := s.backend.Discard(r.Context(), id)
	s.written(r, "letter.discard", "letter "+id, noted{}, err)
	return wrap("discard letter", err)
}

func (s *Server) redrive(r *http.Request) (any, error) {
	id := r.PathValue("id")
	redriven, err := s.backend.Redrive(r.Context(), id)
	s.written(r, "letter.redrive", "letter "+id, noted{Outcome: redriven.Outcome}, err)
	return redriven, wrap("redrive letter", err)
}

func (s *Server) restart(r *http.Request) (any, error) {
	name := r.PathValue("name")
	restarting, err := s.backend.Restart(r.Context(), name)
	s.written(r, "fleet.restart", "fleet "+name, noted{}, err)
	return restarting, wrap("restart fleet", err)
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
