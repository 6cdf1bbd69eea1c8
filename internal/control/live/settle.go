package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// settle applies the wanted settings, as far as possible. The caller holds the turn. A
// failed Apply is repeated only with retry, a failed Check never. Overrides are applied
// even if the version cannot be.
func (l *Live) settle(ctx context.Context, retry bool) error {
	v, rules := l.wanted(), l.due(time.Now())
	if v.Sum == "" {
		return nil
	}
	if v.Sum == l.running.Sum {
		l.running = v // the number may differ
		return l.follow(ctx, rules)
	}
	err := l.bad.err
	if l.bad.sum != v.Sum || retry && !l.bad.final {
		if err = l.check(v); err == nil {
			if err = l.run(ctx, v, rules); err == nil {
				return nil
			}
		}
	}
	if l.running.Sum == "" {
		return err
	}
	return errors.Join(err, l.follow(ctx, rules))
}

// check returns an error if v is invalid.
func (l *Live) check(v Version) error {
	err := l.config.Check(v.Text)
	if err == nil {
		return nil
	}
	err = &InvalidError{What: name(v), Err: err}
	l.bad = fault{sum: v.Sum, final: true, err: err}
	l.config.Log.Error("settings are invalid; the old ones stay in force", "version", v.Number, "source", v.Source, "by", v.By,
		"running", l.running.Number, "err", err)
	l.say(Event{Kind: Refused, Version: v.Number, Sum: v.Sum, Err: err})
	return err
}

func (l *Live) run(ctx context.Context, v Version, rules []Override) error {
	if err := l.config.Apply(ctx, v, slices.Clone(rules)); err != nil {
		err = &ApplyError{Version: v.Number, Err: err}
		l.bad = fault{sum: v.Sum, err: err}
		if ctx.Err() == nil {
			l.config.Log.Error("settings cannot be applied; the old ones stay in force", "version", v.Number, "running", l.running.Number, "err", err)
		}
		l.say(Event{Kind: Failed, Version: v.Number, Sum: v.Sum, Err: err})
		return err
	}
	if l.bad.sum == v.Sum {
		l.bad = fault{}
	}
	l.config.Log.Info("settings are in force", "version", v.Number, "source", v.Source, "by", v.By, "before", l.running.Number, "overrides", len(rules))
	l.running, l.inForce, l.badRules = v, rules, nil
	l.say(Event{Kind: Applied, Version: v.Number, Sum: v.Sum, Overrides: len(rules)})
	return nil
}

// follow applies the overrides to the running version.
func (l *Live) follow(ctx context.Context, rules []Override) error {
	if slices.Equal(rules, l.inForce) {
		l.badRules = nil
		return nil
	}
	if err := l.config.Apply(ctx, l.running, slices.Clone(rules)); err != nil {
		l.badRules = fmt.Errorf("%d overrides cannot be applied: %w", len(rules), err)
		if ctx.Err() == nil {
			l.config.Log.Error("overrides cannot be applied; the old ones stay in force", "overrides", len(rules), "version", l.running.Number, "err", err)
		}
		l.say(Event{Kind: Failed, Version: l.running.Number, Sum: l.running.Sum, Err: l.badRules})
		return l.badRules
	}
	l.config.Log.Info("overrides are in force", "overrides", len(rules), "before", len(l.inForce), "version", l.running.Number)
	l.inForce, l.badRules = rules, nil
	l.say(Event{Kind: Applied, Version: l.running.Number, Sum: l.running.Sum, Overrides: len(rules)})
	return nil
}

// due returns the overrides in force at now.
func (l *Live) due(now time.Time) []Override {
	var found []Override
	for _, o := range l.listed {
		if o.ends.After(now) {
			found = append(found, o.Override)
		}
	}
	return found
}

// name describes v for display.
func name(v Version) string {
	if v.Number == 0 {
		return "the file " + v.Note
	}
	return fmt.Sprintf("version %d", v.Number)
}
