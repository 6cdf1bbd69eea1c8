package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/state/secret"
)

// Modes of files.
const (
	anybodyReads  = 0o004
	othersRead    = 0o044
	anybodyWrites = 0o002
)

// secrets checks that the secrets exist, and that no other user can read them.
func (e *examination) secrets(context.Context) {
	before := len(e.found)
	e.stateSecret()
	c := &e.Settings
	if c.AdminTokenFile != "" {
		e.private("admin_token_file", c.AdminTokenFile)
	}
	if _, err := c.AdminToken(); err != nil && c.AdminTokenFile != "" {
		e.fault("secrets", "write the token into the file's first line", "%v", err)
	}
	for _, id := range slices.Sorted(maps.Keys(c.AccessKeys)) {
		if file := c.AccessKeys[id].SecretFile; file != "" {
			e.private("access_keys."+id+".secret_file", file)
		}
	}
	for _, p := range e.pairs() {
		if p.key != "" {
			e.private(p.at+".key", p.key)
		}
	}
	if !e.runs() { // a running Bezoar has another environment
		for _, name := range c.SecretVariables() {
			if os.Getenv(name) == "" {
				e.warn("secrets", "set it where Bezoar is started, such as in an EnvironmentFile", "the settings name the variable %s, which this environment does not have", name)
			}
		}
	}
	if u, err := url.Parse(c.Store); err == nil && u.User != nil && e.File != "" {
		if _, has := u.User.Password(); has {
			e.private("the settings, which hold the password of the store,", e.File)
		}
	}
	if e.store.File != "" && e.store.Exists {
		e.private("the store, which holds requests and messages,", e.store.File)
	}
	switch {
	case len(e.found) > before:
	case e.secretless():
		e.ok("secrets", "there are none yet; the first start makes the key of fingerprints")
	default:
		e.ok("secrets", "they exist, and no other user can read them")
	}
}

// secretless reports whether Bezoar has not run yet, and the settings name no secrets.
func (e *examination) secretless() bool {
	c := &e.Settings
	if c.AdminTokenFile != "" || len(c.AccessKeys) > 0 || len(c.SecretVariables()) > 0 || len(e.pairs()) > 0 || e.store.Exists {
		return false
	}
	_, err := os.Stat(c.StateDir)
	return c.StateDir != "" && errors.Is(err, fs.ErrNotExist)
}

// stateSecret checks the state folder and the secret in it.
func (e *examination) stateSecret() {
	dir := e.Settings.StateDir
	if dir == "" {
		return
	}
	info, err := os.Stat(dir)
	file := filepath.Join(dir, "secret")
	switch {
	case errors.Is(err, fs.ErrNotExist) && !e.store.Exists:
		return // Bezoar has not run yet
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		e.fault("secrets", "run bezoar doctor as the user that Bezoar runs as", "state_dir: %v", err)
		return
	case err == nil && info.Mode().Perm()&anybodyWrites != 0:
		e.fault("secrets", "chmod 700 "+dir, "state_dir: all users may write in %s (mode %04o), and Bezoar does not start", dir, info.Mode().Perm())
	case err == nil && info.Mode().Perm()&othersRead != 0:
		e.warn("secrets", "chmod 700 "+dir, "state_dir: others may look into %s (mode %04o)", dir, info.Mode().Perm())
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		if e.store.Exists {
			e.fault("secrets", "restore it from the backup; otherwise Bezoar makes a new one", "%s is missing, but the store exists: without the secret its verdicts match nothing", file)
		}
		return
	}
	if _, err := secret.Load(file); err != nil {
		e.fault("secrets", "correct it as it says", "%v", err)
	}
}

// private checks that only the file's owner and its group can read it.
func (e *examination) private(what, file string) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.warn("secrets", "run bezoar doctor as the user that Bezoar runs as", "%s %s cannot be looked at", what, file)
	case err != nil:
		e.fault("secrets", "put the file there, or correct the setting", "%s: %v", what, err)
	case info.Mode().Perm()&(anybodyReads|anybodyWrites) != 0:
		e.fault("secrets", "chmod o-rwx "+file, "%s %s is open to every user of this machine (mode %04o)", what, file, info.Mode().Perm())
	}
}

// pair is a certificate with its key, and the settings that name them.
type pair struct{ at, cert, key, ca string }

func (e *examination) pairs() []pair {
	c := &e.Settings
	var out []pair
	if t := c.TLS; t != nil {
		out = append(out, pair{at: "tls", cert: t.Cert, key: t.Key})
		for i, m := range t.More {
			out = append(out, pair{at: fmt.Sprintf("tls.more[%d]", i), cert: m.Cert, key: m.Key})
		}
	}
	if t := c.SQSTLS; t != nil {
		out = append(out, pair{at: "sqs_tls", cert: t.Cert, key: t.Key})
	}
	for _, name := range e.fleets() {
		if t := e.Settings.Fleets[name].TLS; t != nil {
			out = append(out, pair{at: "fleets." + name + ".tls", cert: t.Cert, key: t.Key, ca: t.CA})
		}
	}
	return slices.DeleteFunc(out, func(p pair) bool { return strings.TrimSpace(p.cert+p.ca) == "" })
}
