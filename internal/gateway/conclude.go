package gateway

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// conclude answers a request that no worker has answered.
func (j *job) conclude(a dispatch.Answer) {
	if a.Kind == dispatch.Answered {
		return
	}
	j.rec.Rule = cmp.Or(j.rec.Rule, a.Rule)
	if a.Kind == dispatch.Failed || a.Kind == dispatch.TimedOut || a.Kind == dispatch.Cut {
		j.s.cfg.Log.Info("request failed", "request", j.id, "route", j.route.Name, "status", a.Result.Status,
			"attempts", a.Attempts, "reason", a.Reason, "error", a.Result.Err)
	}
	if a.Kind == dispatch.Cut || !j.from.Reset() {
		j.from.Abort()
		return
	}
	switch a.Kind {
	case dispatch.Refused:
		j.refused(a)
	case dispatch.Unavailable:
		if (a.Attempts == 0 || j.replayable()) && j.fallBack(admission.Unavailable) {
			return
		}
		j.problem(problem.Document{
			Type: "unavailable", Status: http.StatusServiceUnavailable,
			Detail: "No worker can take the request now.", Reason: publicReason(a.Reason), Rule: a.Rule,
		}, retryAfter(max(a.RetryAfter, time.Second)))
	case dispatch.TimedOut:
		if a.Rule == dispatch.RuleDeadline {
			j.outOfTime(a.Reason)
			return
		}
		j.problem(problem.Document{
			Type: "timeout", Status: http.StatusGatewayTimeout,
			Detail: "The worker did not answer in time.", Reason: publicReason(a.Reason),
		})
	case dispatch.Aborted:
		j.aborted()
	default:
		j.problem(problem.Document{
			Type: "failed", Status: http.StatusBadGateway,
			Detail: "The worker failed on the request.", Reason: publicReason(a.Reason),
		})
	}
}

// refused answers quarantined work.
func (j *job) refused(a dispatch.Answer) {
	p := problem.Document{
		Type: "quarantined", Status: http.StatusServiceUnavailable,
		Detail: "Requests like this one have crashed workers. They are refused until one copy has been tried in isolation.",
		Reason: a.Reason, Rule: a.Rule,
	}
	if v := a.Verdict; v != nil {
		p.ID, p.Reason, p.Scope = v.ID, v.Reason, string(v.Scope)
		if v.Manual {
			p.Detail = "An operator decided that requests like this one are refused for now."
		} else {
			p.Cause = v.Cause.String()
		}
		if !v.Until.IsZero() {
			p.Until = v.Until.UTC().Format(time.RFC3339)
		}
	}
	j.problem(p, retryAfter(max(a.RetryAfter, time.Second)))
}

// aborted ends the exchange with a caller that hung up, or whose body could not be read.
func (j *job) aborted() {
	if j.up != nil && j.up.lost {
		j.badUpload(j.up.cause)
		return
	}
	j.from.Abort()
}

// badUpload answers a request whose body could not be read.
func (j *job) badUpload(err error) {
	if errors.Is(err, errHeadTooLarge) { // the body is fine
		j.problem(problem.Document{Type: "head-too-large", Status: http.StatusRequestHeaderFieldsTooLarge, Detail: "The headers are larger than the worker accepts."})
		return
	}
	j.from.Close()
	var e *h1.Error
	switch {
	case errors.As(err, &e):
		j.problem(problem.Document{Type: "malformed", Status: e.Status, Detail: "The body is malformed: " + e.Rule + "."})
	case errors.Is(err, h1.ErrTooSlow) && j.deadline.late():
		j.outOfTime("the body had not arrived by then")
	case errors.Is(err, h1.ErrTooSlow):
		j.problem(problem.Document{Type: "too-slow", Status: http.StatusRequestTimeout, Detail: "The body took too long."})
	case errors.Is(err, errTooLarge):
		j.tooLarge()
	case j.unbuffered(err):
	default:
		j.from.Abort()
	}
}

// outOfTime answers a caller whose deadline has passed.
func (j *job) outOfTime(reason string) {
	j.rec.Rule = dispatch.RuleDeadline
	j.problem(problem.Document{
		Type: "deadline", Status: http.StatusGatewayTimeout, Rule: dispatch.RuleDeadline,
		Detail: "The caller's deadline for the request has passed.", Reason: publicReason(reason),
		Until: j.deadline.by.UTC().Format(time.RFC3339Nano),
	})
}

func (j *job) tooLarge() {
	j.from.Close()
	limit := strconv.FormatInt(j.route.MaxBody, 10)
	j.problem(problem.Document{
		Type: "too-large", Status: http.StatusRequestEntityTooLarge,
		Detail: "The body is longer than the " + limit + " bytes that the route allows.",
	})
}

func retryAfter(d time.Duration) h1.Field {
	return h1.Field{Name: "Retry-After", Value: strconv.Itoa(int(math.Ceil(d.Seconds())))}
}

// publicReason removes from a reason what only operators should read: causes, which name addresses.
func publicReason(s string) string {
	s, _, _ = strings.Cut(s, ": ")
	return s[:min(len(s), 200)]
}
