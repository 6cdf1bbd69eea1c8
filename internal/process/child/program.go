package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// paths remembers where programs are: a search of PATH for each job would cost a
// part of its fork.
type paths struct {
	mu  sync.Mutex // guards all
	all map[string]string
}

// maxPaths bounds what is remembered.
const maxPaths = 1000

// find returns the path of the program to start.
func (p *paths) find(name string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil // the kernel looks, from the job's folder
	}
	p.mu.Lock()
	path := p.all[name]
	p.mu.Unlock()
	if path != "" {
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil || len(p.all) >= maxPaths {
		p.all = make(map[string]string)
	}
	p.all[name] = path
	return path, nil
}

// forget is for a program that could not be started: it may have moved.
func (p *paths) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, name)
}

// privileged reports whether a program gets privilege from its file's mode, which
// it would not get when it is held.
func privileged(path, dir string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	st, err := os.Stat(path)
	return err == nil && st.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0
}
