package live

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// conflicts is the number of retries after conflicting changes.
const conflicts = 10

// followStore polls the store for changes until ctx ends, and reports the running version.
// It takes the turn only after it has seen a change, so that a hanging store delays neither
// the file nor the end of overrides.
func (l *Live) followStore(ctx context.Context) {
	poll := time.NewTicker(l.config.Poll)
	defer poll.Stop()
	var told time.Time
	for {
		tell := false
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-l.changed:
			tell = true
		}
		err := l.poll(ctx)
		if err == nil && (tell || time.Since(told) >= l.config.Beat) {
			told = time.Now()
			err = l.tell(ctx)
		}
		if err != nil {
			told = time.Time{} // report again when the store answers
		}
		l.answered(ctx, err)
	}
}

// poll follows the store if anything changed.
func (l *Live) poll(ctx context.Context) error {
	known := l.revision.Load()
	asked, cancel := l.in(ctx)
	revision, err := l.config.Store.Revision(asked)
	cancel()
	if err != nil {
		return fmt.Errorf("ask for changes of the settings: %w", err)
	}
	if revision == known && !l.behind.Load() {
		return nil
	}
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if l.pending == nil && known != l.revision.Load() {
		return nil // another goroutine followed it; the next poll sees the rest
	}
	if err := l.refresh(ctx); err != nil {
		return err
	}
	_ = l.settle(ctx, false) // settle logs the error, and the status shows it
	return nil
}

// refresh reads the state of the store, and stores pending changes. The caller holds the
// turn.
func (l *Live) refresh(ctx context.Context) error {
	ctx, cancel := l.in(ctx)
	defer cancel()
	// The revision is read first, so that later changes are seen by the next poll.
	revision, err := l.config.Store.Revision(ctx)
	if err != nil {
		return fmt.Errorf("ask for changes of the settings: %w", err)
	}
	if revision != l.revision.Load() {
		if err := l.read(ctx); err != nil {
			return err
		}
		l.revision.Store(revision)
	}
	if l.pending == nil {
		return nil
	}
	return l.record(ctx)
}

// read reads the newest version and the overrides.
func (l *Live) read(ctx context.Context) error {
	versions, err := l.config.Store.Versions(ctx, MaxVersions)
	if err != nil {
		return fmt.Errorf("list the versions of the settings: %w", err)
	}
	asked := time.Now()
	overrides, now, err := l.config.Store.Overrides(ctx)
	if err != nil {
		return fmt.Errorf("list the overrides: %w", err)
	}
	if err := l.adopt(ctx, versions); err != nil {
		return err
	}
	l.listed = l.listed[:0]
	for _, o := range overrides {
		// The store read its clock after the call began, so this end is not too late.
		l.listed = append(l.listed, expiring{o, asked.Add(o.Until.Sub(now))})
	}
	poke(l.expiries)
	return nil
}

// adopt makes the first of versions the newest known one.
func (l *Live) adopt(ctx context.Context, versions []Version) error {
	if len(versions) == 0 {
		l.newest = Version{}
		return nil
	}
	newest := versions[0]
	if newest.Sum == l.newest.Sum {
		newest.Text = l.newest.Text
	} else {
		whole, err := l.config.Store.Version(ctx, newest.Number)
		if err != nil {
			return fmt.Errorf("read version %d of the settings: %w", newest.Number, err)
		}
		if newest = whole; Sum(whole.Text) != whole.Sum {
			return fmt.Errorf("version %d of the settings is damaged: its text does not match its sum %s", whole.Number, whole.Sum)
		}
	}
	l.newest = newest
	if l.pending != nil {
		return nil // record finds the version of the file's content
	}
	for _, v := range versions {
		if v.Source == FromFile && v.Sum == l.file.sum {
			l.file.number = max(l.file.number, v.Number)
		}
	}
	return nil
}

// record makes the file's content a version. It does nothing if the content was already a
// version since the file's content last changed on this node: another node was first or, if
// nothing is known about the file's past, an earlier process of this node.
func (l *Live) record(ctx context.Context) error {
	for range conflicts {
		versions, err := l.config.Store.Versions(ctx, MaxVersions)
		if err != nil {
			return fmt.Errorf("list the versions of the settings: %w", err)
		}
		known := l.file.number
		if err := l.adopt(ctx, versions); err != nil {
			return err
		}
		if err := l.again(); err != nil {
			return nil // settle logs the error, and the status shows it
		}
		at := recorded(versions, l.pending.Sum, known)
		if at == 0 {
			if at, err = l.recordedParts(ctx, versions, known); err != nil {
				return err
			}
		}
		if at > 0 {
			l.recordedAs(at)
			return nil
		}
		v, err := l.config.Store.PutVersion(ctx, l.newest.Number, *l.pending)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep the file's content as a version: %w", err)
		}
		l.newest = v
		l.recordedAs(v.Number)
		return nil
	}
	return fmt.Errorf("keep the file's content as a version: other changes came first %d times: %w", conflicts, ErrConflict)
}

// recorded returns the version that already has the file's content, or 0.
func recorded(versions []Version, sum string, known int64) int64 {
	for i, v := range versions {
		if v.Sum != sum {
			continue
		}
		if i == 0 || known == 0 || v.Source == FromFile && v.Number > known {
			return v.Number
		}
	}
	return 0
}

// again applies the pending edit to the newest version. If the result is invalid, the edit
// is dropped.
func (l *Live) again() error {
	v, err := l.propose(l.edit)
	if err == nil && v.Sum != l.pending.Sum {
		err = l.config.Admit(l.config.Path, v.Text)
	}
	if err == nil {
		l.pending = &v
		return nil
	}
	for name := range l.edit {
		l.file.parts[name] = part{} // the next look finds the change again
	}
	of := l.edit
	l.edit, l.pending = nil, nil
	l.behind.Store(false)
	l.fileRefused(of, "", err)
	return err
}

// recordedParts is recorded for each file separately, because a newer version may have an
// old content of one file and a new one of another. Parts that some version already has are
// dropped from the pending edit.
func (l *Live) recordedParts(ctx context.Context, versions []Version, known int64) (at int64, err error) {
	if len(documentOf(*l.pending).Files) == 0 {
		return 0, nil
	}
	left := l.relevant(l.edit, *l.pending)
	for i, v := range versions {
		if len(left) == 0 {
			break
		}
		if i > 0 && known > 0 && (v.Source != FromFile || v.Number <= known) {
			continue
		}
		if v = l.newest; i > 0 {
			if v, err = l.config.Store.Version(ctx, versions[i].Number); err != nil {
				return 0, fmt.Errorf("read version %d of the settings: %w", versions[i].Number, err)
			}
		}
		sums := documentOf(v).sums()
		for name, text := range left {
			if sums[name] == Sum(ended(text)) {
				at = max(at, v.Number)
				delete(left, name)
			}
		}
	}
	if len(left) == 0 {
		return at, nil
	}
	l.edit = left
	v, err := l.propose(left)
	if err == nil {
		l.pending = &v
	}
	return 0, err
}

func (l *Live) recordedAs(number int64) {
	l.file.number, l.edit, l.pending = number, nil, nil
	l.behind.Store(false)
	if l.newest.Number != number && l.newest.Sum != l.file.sum {
		l.config.Log.Warn("the file's content is an older version; the newest version stays in force",
			"file", l.config.Path, "version", number, "newest", l.newest.Number, "source", l.newest.Source, "by", l.newest.By)
		l.say(Event{Kind: FileOlder, Version: number, Sum: l.file.sum})
	}
}

// tell reports the running version, and reads those of other nodes.
func (l *Live) tell(ctx context.Context) error {
	ctx, cancel := l.in(ctx)
	defer cancel()
	s := l.Status()
	n := Node{
		Name: s.Node, Running: s.Running.Number, Sum: s.Running.Sum, Wanted: s.Wanted.Number,
		Error: cleaned(s.Error, maxError), Overrides: len(s.Overrides), Since: s.Since.UTC(),
	}
	if err := l.config.Store.PutNode(ctx, n, 5*l.config.Beat); err != nil {
		return fmt.Errorf("report the version that runs on node %s: %w", n.Name, err)
	}
	nodes, err := l.config.Store.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.Nodes = nodes
	return nil
}

// answered records whether the store answers, and logs changes.
func (l *Live) answered(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	was := l.status.Store
	switch {
	case err == nil:
		l.status.Store = StoreStatus{}
	case was.Error == "":
		l.status.Store = StoreStatus{err.Error(), time.Now()}
	default:
		l.status.Store.Error = err.Error()
	}
	l.mu.Unlock()
	switch {
	case err != nil && was.Error == "":
		l.config.Log.Error("the store of settings does not answer; the running version stays in force", "err", err)
		l.config.Observe(Event{Kind: StoreLost, Err: err})
	case err == nil && was.Error != "":
		l.config.Log.Info("the store of settings answers again", "lost", was.Since)
		l.config.Observe(Event{Kind: StoreBack})
	}
}
