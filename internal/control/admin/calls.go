package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

func (s *Server) listVerdicts(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "fleet")
	if err != nil {
		return err
	}
	verdicts, err := s.backend.Verdicts(r.Context(), q.Get("fleet"))
	if err != nil {
		return fmt.Errorf("list verdicts: %w", err)
	}
	return reply(w, http.StatusOK, adminapi.Verdicts{Verdicts: list(verdicts)})
}

func (s *Server) getVerdict(w http.ResponseWriter, r *http.Request) error {
	v, err := s.backend.Verdict(r.Context(), r.PathValue("id"))
	if err != nil {
		return fmt.Errorf("get verdict: %w", err)
	}
	return reply(w, http.StatusOK, v)
}

func (s *Server) addVerdict(w http.ResponseWriter, r *http.Request) error {
	var a adminapi.Add
	if err := decode(w, r, &a); err != nil {
		return err
	}
	if err := checkAdd(a); err != nil {
		return err
	}
	v, err := s.backend.Quarantine(r.Context(), a)
	detail := about(v)
	detail.For, detail.Reason = a.For, a.Reason
	s.written(r, "quarantine.add", strings.TrimSpace("verdict "+v.ID), detail, err)
	if err != nil {
		return fmt.Errorf("add verdict: %w", err)
	}
	return reply(w, http.StatusCreated, v)
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

func (s *Server) release(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	v, _ := s.backend.Verdict(r.Context(), id) // for the audit log
	err := s.backend.Release(r.Context(), id)
	s.written(r, "quarantine.release", "verdict "+id, about(v), err)
	if err != nil {
		return fmt.Errorf("release verdict: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) listLetters(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "fleet", "limit", "offset", "fingerprint")
	if err != nil {
		return err
	}
	lq := ledger.LetterQuery{Fleet: q.Get("fleet")}
	if lq.Limit, err = number(q, "limit", 1, adminapi.MaxLetterLimit); err != nil {
		return err
	}
	if lq.Offset, err = number(q, "offset", 0, 1<<31-1); err != nil {
		return err
	}
	if err := lq.Fingerprint.UnmarshalText([]byte(q.Get("fingerprint"))); err != nil {
		return invalid("%v", err)
	}
	letters, err := s.backend.Letters(r.Context(), lq)
	if err != nil {
		return fmt.Errorf("list letters: %w", err)
	}
	return reply(w, http.StatusOK, adminapi.Letters{Letters: list(letters)})
}

func (s *Server) getLetter(w http.ResponseWriter, r *http.Request) error {
	l, err := s.backend.Letter(r.Context(), r.PathValue("id"))
	if err != nil {
		return fmt.Errorf("get letter: %w", err)
	}
	return reply(w, http.StatusOK, l)
}

func (s *Server) discard(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	err := s.backend.Discard(r.Context(), id)
	s.written(r, "letter.discard", "letter "+id, noted{}, err)
	if err != nil {
		return fmt.Errorf("discard letter: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) redrive(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	done, err := s.backend.Redrive(r.Context(), id)
	s.written(r, "letter.redrive", "letter "+id, noted{Outcome: done.Outcome}, err)
	if err != nil {
		return fmt.Errorf("redrive letter: %w", err)
	}
	return reply(w, http.StatusOK, done)
}

func (s *Server) listFleets(w http.ResponseWriter, r *http.Request) error {
	if _, err := known(r.URL); err != nil {
		return err
	}
	return reply(w, http.StatusOK, adminapi.Fleets{Fleets: list(s.backend.Fleets())})
}

func (s *Server) restart(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	begun, err := s.backend.Restart(r.Context(), name)
	s.written(r, "fleet.restart", "fleet "+name, noted{}, err)
	if err != nil {
		return fmt.Errorf("restart fleet: %w", err)
	}
	return reply(w, http.StatusAccepted, begun)
}

// known parses the query and rejects unknown parameters.
func known(u *url.URL, names ...string) (url.Values, error) { return adminapi.Query(u, names...) }

func number(q url.Values, name string, low, high int) (int, error) {
	return adminapi.Number(q, name, low, high)
}
