package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// paths caches the paths of programs: a search of PATH for each job would cost a noticeable part of the fork.
type paths struct {
	mu  sync.Mutex // guards all fields
	all map[string]string
}

// maxPaths is the most entries of the cache.
const maxPaths = 1000

// find returns the path of the program to start.
func (p *paths) find(name string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil // the kernel resolves it from the job's directory
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

// forget removes a program that could not be started: it may have moved.
func (p *paths) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, name)
}

// privileged reports whether a program gets privileges from its file's mode. It would not get them while it is held.
func privileged(path, dir string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	st, err := os.Stat(path)
	return err == nil && st.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0
}
