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

// fileState is what was read of the file, and of those that settings name. The
// turn guards it.
type fileState struct {
	sum    string // of its last good content, with the files that it names
	number int64  // the newest version that it, or while it pends what the file said before, was recorded as
	badSum string // of the content that was refused last, so that it is complained about once
	err    error  // why it cannot be used as it is
	errAt  time.Time
	parts  map[string]part // by name; "" is the file itself

	refused map[string]string // sums of what was there when err came, by name; nil when nothing was refused
}

// part is one of the files, as it was read last.
type part struct {
	sum   string // of its last good content; "": none was
	err   string // why it cannot be read
	errAt time.Time
}

func (f fileState) status() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

// fail notes why the file cannot be used as it is, and says whether that is new.
func (f *fileState) fail(err error, badSum string) bool {
	was := f.status()
	if f.err == nil {
		f.errAt = time.Now()
	}
	f.err, f.badSum, f.refused = err, badSum, nil
	return was != f.status()
}

// refuses reports whether the file of that name is now another than sum says, and
// of no use.
func (f *fileState) refuses(name, sum string) bool {
	now, ok := f.refused[name]
	return ok && now != sum
}

// edit is what files say and the store has not got yet, by their names; "" is
// the settings themselves.
type edit map[string][]byte

// look reads the file, and those that it or what is wanted names, and says
// whether any has got other content, which then pends. What cannot be read, is
// empty or invalid changes nothing and is complained about once. The turn is held.
func (l *Live) look() (changed bool, err error) {
	found, lost, err := l.readFiles()
	if errors.Is(err, regular.ErrChanging) {
		return false, err // followFile comes back to it
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
		l.config.Log.Info("the file can be used again", "file", l.config.Path)
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

// readFiles reads the file and those that it or what is wanted names; of the
// latter some may not be there.
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

// understand makes of what was read what should run, and says what of it is
// news and matters.
func (l *Live) understand(found edit) (next Version, news edit, err error) {
	for _, name := range slices.Sorted(maps.Keys(found)) { // the file itself comes first
		was, known := l.file.parts[name]
		if Sum(ended(found[name])) == was.sum {
			continue
		}
		if _, ok := news[""]; name != "" && !known && !ok {
			continue // a version names it now: what is in force of it is what that says
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
	return next, news, l.config.Check(next.Text)
}

// propose is the version that the newest becomes by an edit.
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
		return Version{}, fmt.Errorf("with the files that it names it has more than %d bytes", MaxText)
	}
	return Version{
		By: cleaned(l.config.Node, maxName), Source: FromFile, Note: cleaned(strings.Join(paths, ", "), maxNote), Sum: Sum(text), Text: text,
	}, nil
}

// relevant is what of an edit is part of v.
func (l *Live) relevant(e edit, v Version) edit {
	d, out := documentOf(v), edit{}
	for name, text := range e {
		if _, ok := d.File(name); ok || name == "" {
			out[name] = text
		}
	}
	return out
}

// sumHere is that of the file with the files that it names, those that are not
// here as they are in d.
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

// remember keeps what was read, and complains of what was not.
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
	l.config.Log.Warn("the file cannot be read; the settings stay as they are", "file", l.config.Path, "err", err)
	l.say(Event{Kind: FileLost, Err: l.file.err})
}

// fileRefused blames the file that has changed; the settings when it is not the
// only one.
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
	l.config.Log.Error("the file is invalid; the old settings stay in force", "file", path, "running", l.running.Number, "err", err)
	l.say(Event{Kind: Refused, Sum: sum, Err: l.file.err})
}

// fileChanged looks at the file and makes run what follows from it.
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

// flush hands the store what pends, if the store answers; otherwise
// followStore does so once it does. The turn is held.
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

// readFile reads a file that is no longer than a version may be, unless it is
// being written.
func readFile(path string) ([]byte, error) { return regular.Read(path, MaxText) }
