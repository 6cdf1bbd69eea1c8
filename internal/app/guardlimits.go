package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// limitsText is the place of a route's limits in a version of the settings.
type limitsText struct {
	doc    live.Document
	path   string // of the block with the limits, if there is no file
	answer adminapi.GuardLimits
}

func (a *App) limitsIn(v live.Version, route string) (limitsText, error) {
	var out limitsText
	d, err := live.ParseDocument(v.Text)
	if err != nil {
		return out, err
	}
	cfg, err := config.ParseEdited(object(v), d.Text, a.opt.Settings.Edit)
	if err != nil {
		return out, err
	}
	var g *config.Guard
	for i, r := range cfg.Routes {
		if routeName(i, r) == route && r.Guard != nil {
			g, out.path = r.Guard, fmt.Sprintf("routes[%d].guard.rules", i)
		}
	}
	if g == nil {
		return out, adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, fmt.Sprintf("no route %.100q has a guard", route))
	}
	out.doc = d
	out.answer = adminapi.GuardLimits{Route: route, Version: v.Number, File: g.Limits, Routes: []string{route}, Text: []byte(g.Rules)}
	if g.Limits == "" {
		return out, nil
	}
	text, ok := d.File(g.Limits)
	if !ok {
		return out, adminapi.NewProblem(http.StatusConflict, adminapi.CodeConflict,
			fmt.Sprintf("%s does not have the file %.200q yet: put the settings, or change the file", object(v), g.Limits))
	}
	out.answer.Text, out.answer.Routes = text, nil
	for i, r := range cfg.Routes {
		if r.Guard != nil && r.Guard.Limits == g.Limits {
			out.answer.Routes = append(out.answer.Routes, routeName(i, r))
		}
	}
	return out, nil
}

// with returns the text of a version with other limits.
func (t *limitsText) with(text []byte) ([]byte, error) {
	if t.answer.File != "" {
		return t.doc.With(t.answer.File, text).Bytes(), nil
	}
	b, ok := config.FindBlock(t.doc.Text, t.path)
	if !ok {
		return nil, errors.New("the settings have neither a file of limits for the route nor a block of rules: write limits: FILE, or rules: | and the rules below it")
	}
	settings, err := b.Replace(t.doc.Text, t.path, string(text))
	if err != nil {
		return nil, err
	}
	return live.Document{Text: settings, Files: t.doc.Files}.Bytes(), nil
}

// GuardLimits returns the limits of a route in the newest version.
func (s steering) GuardLimits(ctx context.Context, route string) (adminapi.GuardLimits, error) {
	v, err := s.live.Version(ctx, 0)
	if err != nil {
		return adminapi.GuardLimits{}, s.answered("read the newest version", err)
	}
	t, err := s.a.limitsIn(v, route)
	t.answer.Text = s.a.shown(t.answer.Text)
	return t.answer, err
}

// tries bounds the attempts when other changes come first.
const tries = 5

// PutGuardLimits makes a version of the settings in which only the limits of a route change.
func (s steering) PutGuardLimits(ctx context.Context, who admin.Who, route string, in adminapi.PutGuardLimits) (adminapi.Changed, error) {
	if _, err := guard.ParseLimits("limits", in.Text); err != nil {
		return adminapi.Changed{}, &live.InvalidError{What: "the new text", Err: err}
	}
	was := s.live.Status()
	var (
		v   live.Version
		err error
	)
	for range tries {
		v, err = s.putLimits(ctx, who, route, in)
		if in.Base != nil || !errors.Is(err, live.ErrConflict) {
			break
		}
	}
	if _, ok := errors.AsType[*adminapi.Problem](err); ok {
		return adminapi.Changed{}, err
	}
	out, err := s.changed(was, v, err)
	s.a.audit(ctx, who, "guard.limits", "route "+route, struct {
		Base    *int64 `json:"base,omitempty"`
		Note    string `json:"note,omitempty"`
		Version int64  `json:"version,omitempty"`
		Error   string `json:"error,omitempty"`
	}{in.Base, in.Note, v.Number, out.Error}, err)
	return out, err
}

func (s steering) putLimits(ctx context.Context, who admin.Who, route string, in adminapi.PutGuardLimits) (live.Version, error) {
	newest, err := s.live.Version(ctx, 0)
	if err != nil {
		return live.Version{}, err
	}
	base := newest.Number
	if in.Base != nil {
		base = *in.Base
	}
	t, err := s.a.limitsIn(newest, route)
	if err != nil {
		return live.Version{}, err
	}
	text, err := t.with(in.Text)
	if err != nil {
		return live.Version{}, &live.InvalidError{What: "the change", Err: err}
	}
	return s.live.PutIf(ctx, base, text, who.Name, cmp.Or(in.Note, clip("limits of "+route, 500)))
}
