package doctor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// running asks the running Bezoar for its state.
func (e *examination) running(ctx context.Context) {
	if e.Admin == nil || e.Settings.Admin == "" {
		return
	}
	raw, err := e.Admin.Health(ctx)
	if problem, ok := errors.AsType[*adminapi.Problem](err); ok && problem.Code == adminapi.CodeUnauthorized {
		e.warn("health", "put the admin token into BEZOAR_ADMIN_TOKEN", "the running Bezoar does not report its health: %v", err)
		return
	}
	_, silent := errors.AsType[*adminapi.ReachError](err)
	switch {
	case silent && e.runs():
		e.fault("health", "read its log, or set its address with --admin", "Bezoar runs (pid %d): %v", e.pid(), err)
	case silent:
		e.ok("health", "no Bezoar answers at %s", e.Settings.Admin)
	case err != nil:
		e.fault("health", "set its address with --admin", "%v", err)
	default:
		e.health(raw)
		e.version(ctx)
		e.followed(ctx)
	}
}

// health reports failing checks of the running Bezoar.
func (e *examination) health(raw []byte) {
	var report struct {
		State  string `json:"state"`
		Checks []struct {
			Name   string `json:"name"`
			State  string `json:"state"`
			Detail string `json:"detail"`
		} `json:"checks"`
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		e.fault("health", "run the bezoar of the same version", "the running Bezoar's report cannot be read: %v", err)
		return
	}
	const fix = "bezoar top and the log show more"
	well := true
	for _, c := range report.Checks {
		what := c.Name + " is " + c.State
		if c.Detail != "" {
			what += ": " + c.Detail
		}
		switch c.State {
		case "failing":
			e.fault("health", fix, "%s", what)
			well = false
		case "degraded":
			e.warn("health", fix, "%s", what)
			well = false
		}
	}
	if well {
		e.ok("health", "the running Bezoar is %s", report.State)
	}
}

// version compares the version of the running Bezoar with this program's.
func (e *examination) version(ctx context.Context) {
	body, err := e.Admin.Open(ctx, "/metrics", nil)
	if err != nil {
		e.warn("version", "", "the running Bezoar does not report its version: %v", err)
		return
	}
	runs, err := versionIn(body)
	if err = errors.Join(err, body.Close()); err != nil || runs == "" {
		e.warn("version", "run bezoar version where it was started", "the running Bezoar does not report its version")
		return
	}
	if plainVersion(runs) != plainVersion(e.Version) {
		e.warn("version", "restart it: bezoar serve --take-over loses no request", "Bezoar %s runs, and this program is %s", runs, e.Version)
		return
	}
	e.ok("version", "Bezoar %s runs, the version of this program", runs)
}

func versionIn(metrics io.Reader) (string, error) {
	sc := bufio.NewScanner(io.LimitReader(metrics, adminapi.MaxAnswer))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if rest, ok := strings.CutPrefix(sc.Text(), `bezoar_build_info{version=`); ok {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return "", err
			}
			return strconv.Unquote(quoted)
		}
	}
	return "", sc.Err()
}

func plainVersion(v string) string { return strings.TrimPrefix(strings.Trim(v, "()"), "v") }

// followed checks whether the newest settings run.
func (e *examination) followed(ctx context.Context) {
	s, err := e.Admin.Settings(ctx)
	switch {
	case err != nil: // this Bezoar follows no settings
	case s.Error != "":
		e.fault("settings", "bezoar config status and bezoar config check show why", "the newest settings do not run (version %d, running version %d): %s", s.Wanted.Number, s.Running.Number, s.Error)
	case s.Store.Error != "":
		e.fault("store", "bring the store back", "the running Bezoar has no answer from the store: %s", s.Store.Error)
	}
}
