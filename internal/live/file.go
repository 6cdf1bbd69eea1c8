package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// fileState is what was read of the file. The turn guards it.
type fileState struct {
	sum    string // of its last good content
	number int64  // the newest version that it, or while it pends what the file said before, was recorded as
	badSum string // of the content that was refused last, so that it is complained about once
	err    error  // why it cannot be used as it is
}

func (f fileState) status() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

// look reads the file and says whether it has got other content, which then
// pends. What cannot be read, is empty or invalid changes nothing and is
// complained about once. The turn is held.
func (l *Live) look() (changed bool, err error) {
	text, err := readFile(l.config.Path)
	if errors.Is(err, errBusy) {
		return false, err // followFile comes back to it
	}
	if err != nil {
		l.fileLost(err)
		return false, l.file.err
	}
	sum := Sum(text)
	if sum == l.file.badSum && l.file.err != nil {
		return false, l.file.err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		err = errEmpty
	} else if sum != l.file.sum {
		err = l.config.Check(text)
	}
	if err != nil {
		l.fileRefused(sum, err)
		return false, l.file.err
	}
	if l.file.err != nil {
		l.config.Log.Info("the file can be used again", "file", l.config.Path)
		l.say(Event{Kind: FileBack, Sum: sum})
	}
	l.file.err, l.file.badSum = nil, ""
	if sum == l.file.sum {
		return false, nil
	}
	l.file.sum = sum
	l.pending = &Version{
		By: cleaned(l.config.Node, maxName), Source: FromFile, Note: cleaned(l.config.Path, maxNote), Sum: sum, Text: text,
	}
	l.behind.Store(true)
	return true, nil
}

func (l *Live) fileLost(err error) {
	was := l.file.status()
	l.file.err, l.file.badSum = fmt.Errorf("read the settings: %w", err), ""
	if was == l.file.status() {
		return
	}
	l.config.Log.Warn("the file cannot be read; the settings stay as they are", "file", l.config.Path, "err", err)
	l.say(Event{Kind: FileLost, Err: l.file.err})
}

func (l *Live) fileRefused(sum string, err error) {
	l.file.err, l.file.badSum = &InvalidError{What: "the file " + l.config.Path, Err: err}, sum
	l.config.Log.Error("the file is invalid; the old settings stay in force", "file", l.config.Path, "running", l.running.Number, "err", err)
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
	l.hand(ctx)
	return l.settle(ctx, false)
}

// hand hands the store what pends, if the store answers; otherwise
// followStore does so once it does. The turn is held.
func (l *Live) hand(ctx context.Context) {
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

// errBusy is why a file is not to be judged yet.
var errBusy = errors.New("the file is being written")

// readFile reads a file that is no longer than a version may be, unless it is
// being written.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New(path + " is no regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxText+1))
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !(entry{info}).same(entry{after}) {
		return nil, fmt.Errorf("%w: %s", errBusy, path)
	}
	if len(text) > MaxText {
		return nil, fmt.Errorf("%s has more than %d bytes", path, MaxText)
	}
	return text, nil
}
