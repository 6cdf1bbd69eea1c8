package app

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/control/named"
)

// Settings is the file that a running App follows.
type Settings struct {
	Path string // the file to watch and read again
	// Edit changes what was read in the same way as at the start; nil: nothing.
	Edit func(*config.Config)
}

// files are the contents of files that go with a version of the settings, by name. Files that are missing here are read
// from disk.
type files map[string][]byte

// limitFiles returns the files of limits that the guards of routes name. They go with a version, because they decide what
// is refused as the settings do. Files of hints do not: they describe the backend, and may be large.
func limitFiles(cfg *config.Config) (out []string) {
	for _, r := range cfg.Routes {
		if r.Guard != nil && r.Guard.Limits != "" {
			out = append(out, r.Guard.Limits)
		}
	}
	return out
}

// parse reads a version's text, with the same edits as at the start.
func (a *App) parse(name string, text []byte) (config.Config, files, error) {
	d, err := live.ParseDocument(text)
	if err != nil {
		return config.Config{}, nil, err
	}
	cfg, err := config.ParseEdited(name, d.Text, a.opt.Settings.Edit)
	f := make(files, len(d.Files))
	for _, file := range d.Files {
		f[file.Name] = file.Text
	}
	return cfg, f, err
}

// named lists the files that go with settings.
func (a *App) named(text []byte) []string {
	cfg, err := config.ParseEdited("settings", text, a.opt.Settings.Edit)
	if err != nil {
		return nil // check reports the error
	}
	return limitFiles(&cfg)
}

// settingsName is the name of settings without a file in faults.
const settingsName = "settings"

// admit returns the faults of a text that is to become a version, also of files that it names on this machine.
func (a *App) admit(name string, text []byte) error {
	name = cmp.Or(name, settingsName)
	if err := a.checkAs(name, text); err != nil {
		return err
	}
	cfg, _, err := a.parse(name, text)
	if err != nil {
		return err
	}
	list := named.Faults(&cfg, &a.cfg)
	if len(list) == 0 {
		return nil
	}
	d, err := live.ParseDocument(text)
	if err != nil {
		return err
	}
	config.Place(name, d.Text, list)
	return &config.Faults{List: list}
}

// check returns the faults of a version's text, with lines.
func (a *App) check(text []byte) error { return a.checkAs(settingsName, text) }

func (a *App) checkAs(name string, text []byte) error {
	if config.WasRedacted(text) {
		return errors.New("it has placeholders instead of secrets, as settings are shown: start from the original file")
	}
	cfg, f, err := a.parse(name, text)
	if err != nil {
		return err
	}
	d, err := live.ParseDocument(text)
	if err != nil {
		return err
	}
	var faults config.Faults
	for i, r := range cfg.Routes {
		g := r.Guard
		if g == nil {
			continue
		}
		if content, ok := f[g.Limits]; ok {
			_, err := guard.ParseLimits(g.Limits, content)
			gather(&faults, g.Limits, err, nil)
		}
		if g.Rules != "" {
			path := fmt.Sprintf("routes[%d].guard.rules", i)
			_, err := guard.ParseLimits(name, []byte(g.Rules))
			gather(&faults, name, err, func(f *config.Fault) {
				if b, ok := config.FindBlock(d.Text, path); ok && f.Line > 0 {
					f.Line, f.Column = b.Line+f.Line-1, b.Indent+f.Column
				} else {
					f.Line, f.Column = 0, 0
				}
				f.Path = path + ": " + f.Path
			})
		}
	}
	if len(faults.List) == 0 {
		return nil
	}
	return &faults
}

// hidden reduces faults in files to their places. The content of the files is shown only to callers who sent it, and to
// people who can read the files.
func hidden(err error, files []string) error {
	f, ok := errors.AsType[*config.Faults](err)
	if !ok || len(files) == 0 {
		return err
	}
	out := &config.Faults{More: f.More}
	for _, one := range f.List {
		if slices.Contains(files, one.File) {
			one.Path, one.Problem, one.Fix = "", "the file is not valid", "bezoar config check, run where the file is, says more"
		}
		out.List = append(out.List, one)
	}
	return out
}

// gather adds the faults of a text of limits, each once: several routes may name one file.
func gather(all *config.Faults, name string, err error, place func(*config.Fault)) {
	if err == nil {
		return
	}
	list, more := []config.Fault{{File: name, Problem: err.Error()}}, 0
	if f, ok := errors.AsType[*config.Faults](err); ok {
		list, more = f.List, f.More
	}
	seen := make(map[config.Fault]bool, len(all.List))
	for _, f := range all.List {
		seen[f] = true
	}
	all.More += more
	for _, f := range list {
		if place != nil {
			place(&f)
		}
		switch {
		case seen[f]:
		case len(all.List) < config.MaxFaults:
			all.List = append(all.List, f)
		default:
			all.More++
		}
	}
}

// filesElsewhere returns files that the settings name and that do not exist here, from the store's newest version: this
// process may have only the settings.
func (a *App) filesElsewhere(ctx context.Context, cfg *config.Config) files {
	out := files{}
	for _, name := range limitFiles(cfg) {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			out[name] = nil
		}
	}
	if len(out) == 0 || a.opt.Settings.Path == "" || !cfg.Live.Share {
		return nil
	}
	v, err := a.stores.Live.Version(ctx, 0)
	if err != nil {
		return nil // reading the file will report that it is missing
	}
	d, err := live.ParseDocument(v.Text)
	if err != nil {
		return nil
	}
	found := files{}
	for name := range out {
		if text, ok := d.File(name); ok {
			found[name] = text
			a.log.Warn("a file of limits is missing; its content from the newest version of the settings is in force", "file", name, "version", v.Number)
		}
	}
	return found
}

// shown returns a version's text without its secrets.
func (a *App) shown(text []byte) []byte {
	return config.Redact(text, func(secret string) string {
		mac := hmac.New(sha256.New, a.key[:])
		mac.Write([]byte("shown settings\x00" + secret))
		return hex.EncodeToString(mac.Sum(nil)[:4])
	})
}

// faultsOf returns the faults of a guard's files.
func (a *App) faultsOf(g *routeGuard) []adminapi.GuardFault {
	if !g.versioned || a.live == nil {
		return g.faults
	}
	f := a.live.Status().File
	var out []adminapi.GuardFault
	if strings.Contains(f.Error, g.cfg.Limits) {
		out = append(out, adminapi.GuardFault{File: g.cfg.Limits, Error: f.Error, Since: f.ErrorAt})
	}
	for _, n := range f.Files {
		if n.Path == g.cfg.Limits && n.Error != "" {
			out = append(out, adminapi.GuardFault{File: n.Path, Error: n.Error, Since: n.ErrorAt})
		}
	}
	return append(out, g.faults...)
}
