package app

import (
	"io"
	"os"
	"sync"
	"time"
)

// lookAtFile is how often a log file's name is checked, because log rotation renames the file.
const lookAtFile = time.Second

// logFile is a file that lines are appended to. If it is renamed or removed, it is opened anew under its name within
// lookAtFile.
type logFile struct {
	name string

	mu     sync.Mutex // guards what follows
	file   *os.File   // nil once it is closed
	looked time.Time
}

var _ io.WriteCloser = (*logFile)(nil)

func openLogFile(name string) (*logFile, error) {
	f, err := appendTo(name)
	if err != nil {
		return nil, err
	}
	return &logFile{name: name, file: f, looked: time.Now()}, nil
}

// appendTo opens a file that only its owner and group can read, because lines name callers.
func appendTo(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
}

// Write appends one line. After Close it does nothing, because requests end with the settings that they began with.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return len(p), nil
	}
	if now := time.Now(); now.Sub(l.looked) >= lookAtFile {
		l.looked = now
		l.follow()
	}
	return l.file.Write(p)
}

// follow opens the file anew if its name now belongs to another file, or to none. If that fails, it keeps the old file.
func (l *logFile) follow() {
	is, err := os.Stat(l.name)
	if err == nil {
		if was, err := l.file.Stat(); err == nil && os.SameFile(was, is) {
			return
		}
	}
	if f, err := appendTo(l.name); err == nil {
		_ = l.file.Close()
		l.file = f
	}
}

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
