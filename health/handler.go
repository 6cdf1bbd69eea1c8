package health

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Livez answers 200 as long as no Loop is stuck. Load, dependencies and checks of the
// machine do not change that, since a restart would help against none of them.
func (h *Health) Livez() http.Handler {
	return h.handler(func(r Report, verbose bool) answer {
		a := answer{status: http.StatusOK, text: "ok\n"}
		if !r.Alive {
			a = answer{status: http.StatusServiceUnavailable, text: "not alive\n"}
		}
		if verbose {
			a.text += loopLines(r)
		}
		return a
	})
}

// Readyz answers whether the process may take traffic. It answers 503 before every check
// has run once, after Health.Drain or the end of Run, and while the whole is failing. A
// degraded process is ready.
func (h *Health) Readyz() http.Handler {
	return h.handler(func(r Report, verbose bool) answer {
		a := answer{status: http.StatusOK, text: "ok\n"}
		if !r.Ready {
			a = answer{status: http.StatusServiceUnavailable, text: notReadyLine(r)}
		}
		if verbose {
			a.text += checkLines(r)
		}
		return a
	})
}

// Healthz serves a Report as JSON, or with ?verbose as text. The status is 503 while the
// whole is failing or a loop is stuck.
func (h *Health) Healthz() http.Handler {
	return h.handler(func(r Report, verbose bool) answer {
		a := answer{status: http.StatusOK}
		if r.State == Failing || !r.Alive {
			a.status = http.StatusServiceUnavailable
		}
		if verbose {
			a.text = r.State.String() + "\n" + checkLines(r) + loopLines(r)
			return a
		}
		text, err := json.Marshal(r)
		if err != nil { // a NaN that slipped in: say so rather than nothing
			return answer{status: http.StatusInternalServerError, text: "the report cannot be encoded\n"}
		}
		a.json, a.text = true, string(text)+"\n"
		return a
	})
}

// Handler serves /livez, /readyz and /healthz.
func (h *Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/livez", h.Livez())
	mux.Handle("/readyz", h.Readyz())
	mux.Handle("/healthz", h.Healthz())
	return mux
}

type answer struct {
	status int
	json   bool
	text   string
}

func (h *Health) handler(say func(r Report, verbose bool) answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		head := w.Header()
		head.Set("Cache-Control", "no-store")
		head.Set("X-Content-Type-Options", "nosniff")
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			head.Set("Allow", "GET, HEAD")
			http.Error(w, "GET and HEAD only", http.StatusMethodNotAllowed)
			return
		}
		q := req.URL.Query()
		verbose := q.Has("verbose")
		r := h.report(excluded(q))
		if !verbose || !h.cfg.Verbose {
			r = r.public()
		}
		a := say(r, verbose)
		if verbose && !h.cfg.Verbose {
			a.text += "details are withheld\n"
		}
		head.Set("Content-Type", "text/plain; charset=utf-8")
		if a.json {
			head.Set("Content-Type", "application/json")
		}
		head.Set("Content-Length", strconv.Itoa(len(a.text)))
		w.WriteHeader(a.status)
		if req.Method == http.MethodGet {
			_, _ = w.Write([]byte(a.text))
		}
	})
}

// excluded reads ?exclude=a,b&exclude=c.
func excluded(q url.Values) map[string]bool {
	names := map[string]bool{}
	for _, list := range q["exclude"] {
		for name := range strings.SplitSeq(list, ",") {
			if len(names) >= MaxChecks {
				return names
			}
			names[name] = true
		}
	}
	return names
}

// notReadyLine names what is in the way, of many the first.
func notReadyLine(r Report) string {
	const most = 8
	var names []string
	for _, c := range r.Checks {
		starting := r.NotReady == "starting" && c.Pending && c.Kind != Called
		if starting || r.NotReady == "failing" && c.State == Failing && !c.Optional {
			names = append(names, c.Name)
		}
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	if len(names) == 0 {
		return "not ready: " + r.NotReady + "\n"
	}
	return "not ready: " + r.NotReady + ": " + strings.Join(names, ", ") + more + "\n"
}

// checkLines has a line for each check, and one for each of its numbers.
func checkLines(r Report) string {
	var b strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%s: %s", c.Name, c.State)
		switch {
		case c.Pending:
			b.WriteString(", not looked at yet")
		case c.Skipped != "":
			b.WriteString(", left out: " + c.Skipped)
		default:
			b.WriteString(" since " + c.Since.UTC().Format("2006-01-02T15:04:05Z"))
		}
		if c.Optional {
			b.WriteString(", optional")
		}
		if c.Detail != "" {
			b.WriteString(": " + c.Detail)
		}
		b.WriteByte('\n')
		for _, m := range c.Measures {
			fmt.Fprintf(&b, "  %s %.4g%s%s\n", m.Name, m.Value, unit(m.Unit), m.Thresholds)
		}
	}
	for _, f := range r.Faults {
		b.WriteString("fault: " + f + "\n")
	}
	return b.String()
}

func unit(name string) string {
	if name == "seconds" {
		return " s"
	}
	return ""
}

// String returns the limits for people.
func (t *Thresholds) String() string {
	if t == nil {
		return ""
	}
	var parts []string
	if t.Degraded != nil {
		parts = append(parts, fmt.Sprintf("degraded from %.4g to below %.4g", t.Degraded.Upper, t.Degraded.Lower))
	}
	if t.Failing != nil {
		parts = append(parts, fmt.Sprintf("failing from %.4g to below %.4g", t.Failing.Upper, t.Failing.Lower))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func loopLines(r Report) string {
	var b strings.Builder
	for _, l := range r.Loops {
		state := "ok"
		if l.Stuck {
			state = "stuck"
		}
		fmt.Fprintf(&b, "loop %s: %s, no beat for %.0f s of %.0f s\n", l.Name, state, l.SilentSeconds, l.WithinSeconds)
	}
	return b.String()
}
