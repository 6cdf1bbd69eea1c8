package live

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Put makes text the newest version and applies it here. If text equals the newest version,
// Put creates no new one. After an [InvalidError] nothing has changed. After an
// [ApplyError] the version is stored and wanted, but does not run here.
func (l *Live) Put(ctx context.Context, text []byte, by, note string) (Version, error) {
	return l.put(ctx, -1, Version{By: by, Source: FromAPI, Note: note, Text: text})
}

// PutIf is Put, but returns ErrConflict if the newest version does not have the number
// base. Base 0 means that there is no version.
func (l *Live) PutIf(ctx context.Context, base int64, text []byte, by, note string) (Version, error) {
	if base < 0 {
		return Version{}, fmt.Errorf("put settings: base: %d is negative", base)
	}
	return l.put(ctx, base, Version{By: by, Source: FromAPI, Note: note, Text: text})
}

// Rollback makes the text of an older version the newest version.
func (l *Live) Rollback(ctx context.Context, number int64, by string) (Version, error) {
	old, err := l.Version(ctx, number)
	if err != nil {
		return Version{}, err
	}
	return l.put(ctx, -1, Version{By: by, Source: FromRollback, Note: fmt.Sprintf("back to version %d", old.Number), Text: old.Text})
}

func (l *Live) put(ctx context.Context, base int64, v Version) (Version, error) {
	v.Text, v.Sum = bytes.Clone(v.Text), Sum(v.Text)
	if err := v.Validate(); err != nil {
		return Version{}, fmt.Errorf("put settings: %w", err)
	}
	if len(l.names(documentOf(v).Text)) == 0 { // the text names no files, so that its validity can be checked without the store
		if err := l.whole(&v, Version{}); err != nil {
			return Version{}, err
		}
	}
	leave, err := l.enter(ctx)
	if err != nil {
		return Version{}, err
	}
	defer leave()
	if err := l.refresh(ctx); err != nil {
		return Version{}, fmt.Errorf("put settings: %w", err)
	}
	kept, err := l.keep(ctx, base, v)
	if err != nil {
		return Version{}, fmt.Errorf("put settings: %w", err)
	}
	return kept.bare(), l.settle(context.WithoutCancel(ctx), true)
}

// Try returns the version that Put, or PutIf with a non-negative base, would create, and
// the newest version. It changes nothing. If both have the same number, the text is already
// the newest.
func (l *Live) Try(ctx context.Context, base int64, text []byte) (would, newest Version, err error) {
	v := Version{By: l.config.Node, Source: FromAPI, Text: bytes.Clone(text), Sum: Sum(text)}
	if err := v.Validate(); err != nil {
		return Version{}, Version{}, fmt.Errorf("try settings: %w", err)
	}
	leave, err := l.enter(ctx)
	if err != nil {
		return Version{}, Version{}, err
	}
	defer leave()
	if err := l.refresh(ctx); err != nil {
		return Version{}, Version{}, fmt.Errorf("try settings: %w", err)
	}
	newest = l.newest
	if err := l.fits(base); err != nil {
		return Version{}, newest, err
	}
	if err := l.whole(&v, newest); err != nil {
		return Version{}, newest, err
	}
	if v.Sum == newest.Sum {
		return newest, newest, nil
	}
	v.Number = newest.Number + 1
	return v, newest, nil
}

// fits returns ErrConflict unless the newest version has the number base; -1 always fits.
func (l *Live) fits(base int64) error {
	if base >= 0 && base != l.newest.Number {
		return fmt.Errorf("%w: number %d by %s, not %d", ErrConflict, l.newest.Number, l.newest.By, base)
	}
	return nil
}

// whole adds the files that the settings of a new version name and that it does not
// contain: from base, or else from this node. Then it checks the version.
func (l *Live) whole(v *Version, base Version) error {
	var here []string // files that the caller did not provide
	d, err := l.completed(base, v.Text, func(name string) ([]byte, error) {
		here = append(here, name)
		return readFile(name)
	})
	if err != nil && !errors.Is(err, errEmpty) {
		if unread := l.config.Check(v.Text); unread != nil {
			err = unread // the files of an invalid text are unknown
		}
	}
	for _, f := range d.Files {
		if wrong := checkPart(f.Text); err == nil && wrong != nil {
			err = fmt.Errorf("%s: %w", f.Name, wrong)
		}
	}
	if err == nil {
		v.Text = d.Bytes()
		v.Sum = Sum(v.Text)
		if err = l.config.Admit("", v.Text); err != nil {
			err = l.config.Hide(err, here)
		}
	}
	if err != nil {
		return &InvalidError{What: "the new text", Err: err}
	}
	if err := v.Validate(); err != nil {
		return fmt.Errorf("put settings: with the files that it names: %w", err)
	}
	return nil
}

// keep stores v, completed with the files that it names, after base, or after the newest
// version if base is -1.
func (l *Live) keep(ctx context.Context, base int64, given Version) (Version, error) {
	for range conflicts {
		v := given
		if err := l.fits(base); err != nil {
			return Version{}, err
		}
		if err := l.whole(&v, l.newest); err != nil {
			return Version{}, err
		}
		if v.Sum == l.newest.Sum {
			return l.newest, nil
		}
		asked, cancel := l.in(ctx)
		kept, err := l.config.Store.PutVersion(asked, l.newest.Number, v)
		cancel()
		if err == nil {
			l.newest = kept
			return kept, nil
		}
		if !errors.Is(err, ErrConflict) {
			return Version{}, err
		}
		if err := l.refresh(ctx); err != nil {
			return Version{}, err
		}
	}
	return Version{}, fmt.Errorf("other changes came first %d times: %w", conflicts, ErrConflict)
}

// Version returns one version with its text; number 0 means the newest.
func (l *Live) Version(ctx context.Context, number int64) (Version, error) {
	ctx, cancel := l.in(ctx)
	defer cancel()
	v, err := l.config.Store.Version(ctx, number)
	if err != nil {
		return Version{}, fmt.Errorf("settings of version %d: %w", number, err)
	}
	return v, nil
}

// History lists the newest versions without their texts, newest first. limit is 1 to
// MaxVersions; 0 means all stored versions.
func (l *Live) History(ctx context.Context, limit int) ([]Version, error) {
	limit = cmp.Or(limit, MaxVersions)
	ctx, cancel := l.in(ctx)
	defer cancel()
	return l.config.Store.Versions(ctx, limit)
}

// Completed returns the text that a put of text after v would store: with the files that it
// names and does not contain, as far as v has them. The text is not checked.
func (l *Live) Completed(v Version, text []byte) []byte {
	d, err := l.completed(v, text, func(string) ([]byte, error) { return nil, ErrNotFound })
	if err != nil {
		return text
	}
	return d.Bytes()
}

func (l *Live) completed(base Version, text []byte, read func(name string) ([]byte, error)) (Document, error) {
	d, err := ParseDocument(text)
	if err != nil {
		return Document{}, err
	}
	if len(bytes.TrimSpace(d.Text)) == 0 {
		return Document{}, errEmpty
	}
	return complete(d, l.names(d.Text), func(name string) ([]byte, error) {
		if text, ok := documentOf(base).File(name); ok {
			return text, nil
		}
		return read(name)
	})
}

// Override puts o in force on all nodes until o.Until, a time of this process's clock. The
// store measures the duration with its own clock. Override sets the ID. It replaces an
// override of the same target and What.
func (l *Live) Override(ctx context.Context, o Override) (Override, error) {
	ttl := time.Until(o.Until)
	if o.ID != "" {
		return Override{}, fmt.Errorf("override: ID: %.80q: must be empty", o.ID)
	}
	o.ID = newID()
	err := CheckOverride(o, ttl)
	if err == nil {
		err = l.config.CheckOverride(o)
	}
	if err != nil {
		return Override{}, fmt.Errorf("override: %w", err)
	}
	err = l.rule(ctx, func(ctx context.Context) (err error) {
		o, err = l.config.Store.PutOverride(ctx, o, ttl)
		return err
	})
	if err != nil {
		return Override{}, fmt.Errorf("override: %w", err)
	}
	return o, nil
}

// Lift ends an override early.
func (l *Live) Lift(ctx context.Context, id string) error {
	err := l.rule(ctx, func(ctx context.Context) error { return l.config.Store.DeleteOverride(ctx, id) })
	if err != nil {
		return fmt.Errorf("lift override %.80s: %w", id, err)
	}
	return nil
}

// rule changes the overrides and applies the change here at once.
func (l *Live) rule(ctx context.Context, change func(context.Context) error) error {
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	asked, cancel := l.in(ctx)
	err = change(asked)
	cancel()
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the change has happened
	if err := l.refresh(ctx); err != nil {
		l.answered(ctx, err) // the change is stored, and applied when the store answers
		return nil
	}
	_ = l.settle(ctx, false) // settle logs the error, and the status shows it
	return nil
}

func newID() string {
	var random [8]byte
	rand.Read(random[:])
	return "ov-" + hex.EncodeToString(random[:])
}
