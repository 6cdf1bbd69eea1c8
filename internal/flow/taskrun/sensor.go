package taskrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/process/evidence"
)

// lookTimeout is how long one look may take, if the task does not say.
const lookTimeout = time.Minute

// look looks once whether what a sensor waits for is there.
func (r *Runner) look(ctx context.Context, a *attempt, env *environment) flow.Ending {
	s := a.spec.Sensor
	a.spec.Timeout = cmp.Or(a.spec.Timeout, lookTimeout)
	if len(s.Command) > 0 {
		e := r.command(ctx, a, env, s.Command)
		if e.NotYet = e.Class == bezoar.Transient && e.ExitCode == exitNotYet; e.NotYet {
			e.Fingerprint, e.Group, e.Quality = "", "", ""
		}
		return e
	}
	ctx, cancel := here(ctx, a.spec.Timeout)
	defer cancel()
	var there bool
	var why string
	var err error
	switch {
	case s.File != "":
		there, why, err = r.lookFor(s.File, a.spec.Dir)
	case s.HTTP != "":
		there, why, err = r.ask(ctx, s.HTTP)
	case r.cfg.Query == nil:
		err = errors.New("this program cannot run SQL sensors")
	default:
		there, err = r.cfg.Query(ctx, env.dsn, s.SQL)
		why = "the query returns no row, or one whose first column is null, 0 or false"
	}
	e, ended := stopped(ctx, a.spec.Timeout)
	switch {
	case err != nil && ended:
	case err != nil:
		fmt.Fprintln(env.masked(a.log), err)
		f := evidence.Failure{Class: bezoar.Bug}
		f.Add(crash.FromError(err))
		e = ofFailure(f, err.Error())
	case !there:
		fmt.Fprintln(a.log, "not yet:", why)
		e = flow.Ending{Class: bezoar.Transient, Reason: why, NotYet: true}
	default:
		e = flow.Ending{}
	}
	return e
}

// exitNotYet is the exit code of a sensor's command for "not yet".
const exitNotYet = 75

// lookFor looks for a file.
func (r *Runner) lookFor(glob, dir string) (there bool, why string, err error) {
	glob = below(dir, glob)
	found, err := filepath.Glob(glob)
	if err != nil {
		return false, "", fmt.Errorf("file %s: %w", glob, err)
	}
	return len(found) > 0, "there is no " + glob, nil
}

// ask asks a server. One that is down, and one that knows no such thing, may know
// it later.
func (r *Runner) ask(ctx context.Context, url string) (there bool, why string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, "", err
	}
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return false, "", err
		}
		return false, err.Error(), nil
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	switch code := res.StatusCode; {
	case code >= 200 && code < 300:
		return true, "", nil
	case code == http.StatusNotFound, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		return false, req.URL.Redacted() + " answers " + res.Status, nil
	default:
		return false, "", fmt.Errorf("%s answers %s", req.URL.Redacted(), res.Status)
	}
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 64 << 10
