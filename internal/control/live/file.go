package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/regular"
)

// fileState is the last read state of the file and of the files that settings name. The
// turn guards it.
type fileState struct {
	sum    string // of its last good content, including the named files
	number int64  // the newest version that this content, or the content before a pending one, was recorded as
	badSum string // of the last rejected content, so that it is logged only once
	err    error  // the reason why the file cannot be used
	errAt  time.Time
	parts  map[string]part // by name; "" is the file itself

	refused map[string]string // sums of the files when err occurred, by name; nil: nothing was rejected
}

// part is the last read state of one of the files.
type part struct {
	sum   string // of its last good content; empty: none
	err   string // the reason why it cannot be read
	errAt time.Time
}

func (f fileState) status() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

// fail records why the file cannot be used. It reports whether the reason is new.
func (f *fileState) fail(err error, badSum string) bool {
	was := f.status()
	if f.err == nil {
		f.errAt = time.Now()
	}
	f.err, f.badSum, f.refused = err, badSum, nil
	return was != f.status()
}

// refuses reports whether the file now has another content than sum, which is unusable.
func (f *fileState) refuses(name, sum string) bool {
	now, ok := f.refused[name]
	return ok && now != sum
}

// edit holds changes of files that are not yet in the store, by name; "" is the settings
// themselves.
type edit map[string][]byte

// look reads the file, and the files that it or the wanted version names. It reports
// whether any content has changed, which then is pending. Unreadable, empty or invalid
// content changes nothing and is logged once. The caller holds the turn.
func (l *Live) look() (changed bool, err error) {
	found, lost, err := l.readFiles()
	if errors.Is(err, regular.ErrChanging) {
		return false, err // followFile will retry
	}
	if err != nil {
		l.fileLost(err)
		return false, l.file.err
	}
	all := Document{Text: found[""]}
	for _, name := range slices.Sorted(maps.Keys(found))[1:] {
		all.Files = append(all.Files, File{name, found[name]})
	}
	sum := Sum(all.Bytes())
	if sum == l.file.badSum && l.file.err != nil {
		return false, l.file.err
	}
	next, news, err := l.understand(found)
	if err != nil {
		l.fileRefused(found, sum, err)
		return false, l.file.err
	}
	if l.file.err != nil {
		l.config.Log.Info("the settings file can be used again", "file", l.config.Path)
		l.say(Event{Kind: FileBack, Sum: sum})
	}
	l.file.err, l.file.badSum, l.file.errAt, l.file.refused = nil, "", time.Time{}, nil
	l.remember(found, lost)
	if len(news) == 0 {
		return false, nil
	}
	l.file.sum = l.sumHere(found, documentOf(next))
	l.edit, l.pending = news, &next
	l.behind.Store(true)
	return true, nil
}

// readFiles reads the file and the files that it or the wanted version names. Some of the
// latter may be missing.
func (l *Live) readFiles() (found edit, lost map[string]error, err error) {
	text, err := readFile(l.config.Path)
	if err != nil {
		return nil, nil, err
	}
	found, lost = edit{"": text}, map[string]error{}
	for _, name := range append(l.names(text), l.names(documentOf(l.wanted()).Text)...) {
		text, err := readFile(name)
		switch {
		case errors.Is(err, regular.ErrChanging):
			return nil, nil, err
		case err != nil:
			lost[name] = err
		default:
			found[name] = text
		}
	}
	return found, lost, nil
}

// understand derives the wanted version from the files, and returns the relevant changes.
func (l *Live) understand(found edit) (next Version, news edit, err error) {
	for _, name := range slices.Sorted(maps.Keys(found)) { // the file itself comes first
		was, known := l.file.parts[name]
		if Sum(ended(found[name])) == was.sum {
			continue
		}
		if _, ok := news[""]; name != "" && !known && !ok {
			continue // now named by a version, whose content is in force
		}
		if err := checkPart(found[name]); err != nil {
			if name != "" {
				err = fmt.Errorf("%s: %w", name, err)
			}
			return Version{}, nil, err
		}
		if news == nil {
			news = maps.Clone(l.edit)
			if news == nil {
				news = edit{}
			}
		}
		news[name] = found[name]
	}
	if news == nil {
		return Version{}, nil, nil
	}
	if next, err = l.propose(news); err != nil {
		return Version{}, nil, err
	}
	if news = l.relevant(news, next); len(news) == 0 {
		return next, nil, nil
	}
	return next, news, l.config.Admit(l.config.Path, next.Text)
}

// propose returns the newest version with an edit applied.
func (l *Live) propose(e edit) (Version, error) {
	base := documentOf(l.newest)
	d := Document{Text: base.Text}
	if text, ok := e[""]; ok {
		d.Text = text
	}
	d, err := complete(d, l.names(d.Text), func(name string) ([]byte, error) {
		if text, ok := e[name]; ok {
			return text, nil
		}
		if text, ok := base.File(name); ok {
			return text, nil
		}
		return readFile(name)
	})
	if err != nil {
		return Version{}, err
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(l.relevant(e, Version{Text: d.Bytes()}))) {
		name = cmp.Or(name, l.config.Path)
		paths = append(paths, name)
	}
	text := d.Bytes()
	if len(text) > MaxText {
		return Version{}, fmt.Errorf("the settings with their files have more than %d bytes", MaxText)
	}
	return Version{
		By: cleaned(l.config.Node, maxName), Source: FromFile, Note: cleaned(strings.Join(paths, ", "), maxNote), Sum: Sum(text), Text: text,
	}, nil
}

// relevant returns the part of an edit that belongs to v.
func (l *Live) relevant(e edit, v Version) edit {
	d, out := documentOf(v), edit{}
	for name, text := range e {
		if _, ok := d.File(name); ok || name == "" {
			out[name] = text
		}
	}
	return out
}

// sumHere returns the sum of the file with the files that it names. Missing files are taken
// from d.
func (l *Live) sumHere(found edit, d Document) string {
	here := Document{Text: found[""]}
	for _, name := range l.names(here.Text) {
		text, ok := found[name]
		if !ok {
			text, _ = d.File(name)
		}
		here.Files = append(here.Files, File{name, text})
	}
	return Sum(here.Bytes())
}

// remember stores the read files, and logs unreadable ones.
func (l *Live) remember(found edit, lost map[string]error) {
	parts := make(map[string]part, len(found)+len(lost))
	for name, text := range found {
		parts[name] = part{sum: Sum(ended(text))}
	}
	for name, err := range lost {
		p := l.file.parts[name]
		if p.err == "" {
			p.errAt = time.Now()
		}
		if p.err != err.Error() {
			l.config.Log.Warn("cannot read a file that the settings name; its old content stays in force", "file", name, "err", err)
			l.say(Event{Kind: FileLost, Err: err})
		}
		p.err = err.Error()
		parts[name] = p
	}
	l.file.parts = parts
}

func (l *Live) fileLost(err error) {
	if !l.file.fail(fmt.Errorf("read the settings: %w", err), "") {
		return
	}
	l.config.Log.Warn("the settings file cannot be read; the settings do not change", "file", l.config.Path, "err", err)
	l.say(Event{Kind: FileLost, Err: l.file.err})
}

// fileRefused reports the changed file as invalid, or the settings if several files have
// changed.
func (l *Live) fileRefused(found edit, sum string, err error) {
	refused, path := make(map[string]string, len(found)), ""
	for name, text := range found {
		refused[name] = Sum(ended(text))
		switch {
		case refused[name] == l.file.parts[name].sum:
		case path == "" && name != "":
			path = name
		default:
			path = l.config.Path
		}
	}
	path = cmp.Or(path, l.config.Path)
	l.file.fail(&InvalidError{What: "the file " + path, Err: err}, sum)
	l.file.refused = refused
	l.config.Log.Error("the settings file is invalid; the old settings stay in force", "file", path, "running", l.running.Number, "err", err)
	l.say(Event{Kind: Refused, Sum: sum, Err: l.file.err})
}

// fileChanged reads the file and applies the changes.
func (l *Live) fileChanged(ctx context.Context) error {
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	changed, err := l.look()
	if err != nil || !changed {
		return err
	}
	l.flush(ctx)
	return l.settle(ctx, false)
}

// flush stores pending changes if the store answers; otherwise followStore does so later.
// The caller holds the turn.
func (l *Live) flush(ctx context.Context) {
	l.mu.Lock()
	lost := l.status.Store.Error != ""
	l.mu.Unlock()
	if lost {
		return
	}
	if err := l.refresh(ctx); err != nil {
		l.answered(ctx, err)
	}
}

// readFile reads a file up to the size of a version, unless it is being written.
func readFile(path string) ([]byte, error) { return regular.Read(path, MaxText) }
