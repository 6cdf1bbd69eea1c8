package taskrun

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/control/regular"
)

// maxSecret is the most bytes of one secret.
const maxSecret = 64 << 10

// environment holds an attempt's own variables and the secrets in them.
type environment struct {
	vars    []string
	dsn     string // of an SQL sensor
	secrets []string
	known   *redact.Values // nil without secrets
}

// environ resolves the references to secrets.
func (r *Runner) environ(s *flow.Spec) (*environment, error) {
	e := &environment{vars: []string{
		"BEZOAR_FLOW=" + s.Flow, "BEZOAR_RUN=" + s.Run, "BEZOAR_TASK=" + s.Task,
		"BEZOAR_INDEX=" + strconv.Itoa(s.Index), "BEZOAR_ITEM=" + s.Item, "BEZOAR_ATTEMPT=" + strconv.Itoa(s.N),
		"BEZOAR_DUE=" + s.Input.Due.UTC().Format(time.RFC3339), "BEZOAR_OUTPUT=" + r.outPath(s.Token),
	}}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		v := s.Env[name]
		text := v.Text
		if v.Secret != "" {
			var err error
			if text, err = r.secret(v.Secret); err != nil {
				errs = append(errs, fmt.Errorf("env %s: %w", name, err))
				continue
			}
			e.secrets = append(e.secrets, text)
		}
		e.vars = append(e.vars, name+"="+text)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if err := r.resolveDSN(e, s.Sensor); err != nil {
		return nil, err
	}
	if len(e.secrets) > 0 {
		e.known = redact.Known(e.secrets...)
	}
	return e, nil
}

func (r *Runner) resolveDSN(e *environment, s *flow.Sensor) (err error) {
	if s == nil {
		return nil
	}
	e.dsn = s.DSN.Text
	if s.DSN.Secret != "" {
		if e.dsn, err = r.secret(s.DSN.Secret); err != nil {
			return fmt.Errorf("dsn: %w", err)
		}
		e.secrets = append(e.secrets, e.dsn)
	}
	return nil
}

// secret reads the secret of a reference.
func (r *Runner) secret(ref string) (string, error) {
	kind, name, _ := strings.Cut(ref, ":")
	switch kind {
	case "env":
		for _, v := range r.cfg.Environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, nil
			}
		}
		return "", fmt.Errorf("the secret's variable %s is not set in Bezoar's environment", name)
	case "file":
		b, err := regular.Read(name, maxSecret)
		if err != nil {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		return strings.TrimRight(string(b), "\r\n"), nil
	}
	return "", fmt.Errorf("secret %.40q: want env:NAME or file:PATH", ref)
}

// hide removes the secrets from an ending.
func (e *environment) hide(end *flow.Ending) {
	if e.known == nil {
		return
	}
	shown := func(text string) string { return string(e.known.Hide([]byte(text))) }
	end.Reason, end.Downstream = shown(end.Reason), shown(end.Downstream)
	end.Output = e.known.Hide(end.Output)
	for i := range end.Rows {
		end.Rows[i].Reason = shown(end.Rows[i].Reason)
	}
}

// masked returns a writer that removes the secrets from a log.
func (e *environment) masked(log io.Writer) io.Writer {
	if e.known == nil {
		return log
	}
	return &mask{of: e, to: log}
}

// mask hides secrets in a stream. It holds back bytes that may begin a secret until the following bytes decide.
type mask struct {
	of   *environment
	to   io.Writer
	held []byte
}

func (m *mask) Write(p []byte) (int, error) {
	all := append(m.held, p...)
	k := m.of.begins(all)
	_, err := m.to.Write(m.of.known.Hide(all[:len(all)-k]))
	m.held = append([]byte(nil), all[len(all)-k:]...)
	return len(p), err
}

// Close writes the bytes held back.
func (m *mask) Close() error {
	_, err := m.to.Write(m.of.known.Hide(m.held))
	m.held = nil
	return err
}

// closeMask closes a log that may be masked.
func closeMask(w io.Writer) {
	if m, ok := w.(*mask); ok {
		_ = m.Close()
	}
}

// begins returns the length of the longest end of b that begins a secret.
func (e *environment) begins(b []byte) (most int) {
	for _, s := range e.secrets {
		if len(s) < redact.MinValue {
			continue
		}
		for k := min(len(s)-1, len(b)); k > most; k-- {
			if string(b[len(b)-k:]) == s[:k] {
				most = k
			}
		}
	}
	return most
}

// nameOf returns the identity of a directory.
func nameOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}
