package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/gateway/certs"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/internal/state/handover"
)

// lastCallFor is how long idle connections can still be used after this process ends, if its listening sockets stay open.
const lastCallFor = 500 * time.Millisecond

// openSockets takes the given sockets. If this process follows a running one, it takes that process's sockets and waits
// until that process has released everything else.
func (a *App) openSockets(ctx context.Context) error {
	if a.sockets = a.opt.Sockets; a.sockets == nil {
		a.sockets = new(handover.Sockets)
	}
	a.succeeds = a.sockets.Outlive() || a.opt.resumes
	if !a.opt.TakeOver {
		return nil
	}
	switch {
	case a.cfg.StateDir == "":
		return errors.New("there is nothing to take over without a state directory (state_dir)")
	case a.succeeds:
		return errors.New("a service manager has given the listening sockets: there is nothing to take over")
	}
	if err := a.checkFiles(); err != nil {
		return err
	}
	s, before, err := handover.Take(ctx, a.cfg.StateDir, a.claim)
	if err != nil {
		return fmt.Errorf("take over: %w", err)
	}
	a.sockets = s
	if before == nil {
		a.log.Info("no Bezoar runs here to take over from")
		return nil
	}
	a.succeeds, a.before = true, before
	a.log.Info("taking over: callers wait until the old process has finished", "pid", before.PID)
	if err := before.Wait(ctx); err != nil {
		return fmt.Errorf("take over from process %d: %w", before.PID, err)
	}
	return nil
}

// checkFiles reads the files that the settings name, so that faults are known while the old process still serves.
func (a *App) checkFiles() error {
	cfg := &a.cfg
	_, err := cfg.AdminToken()
	errs := []error{err}
	_, err = accessKeys(cfg.AccessKeys)
	_, bad := alarmRules(cfg.Alarms)
	errs = append(errs, err, bad)
	if cfg.TLS != nil {
		if _, err := certs.Load(pairsOf(cfg.TLS)); err != nil {
			errs = append(errs, fmt.Errorf("tls: %w", err))
		}
	}
	if t := cfg.SQSTLS; t != nil {
		if _, err := certs.Load([]certs.Pair{{Cert: t.Cert, Key: t.Key}}); err != nil {
			errs = append(errs, fmt.Errorf("sqs_tls: %w", err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Fleets)) {
		f := cfg.Fleets[name]
		if f.TLS != nil {
			_, err := workerTrust(name, f.TLS, a.log)
			errs = append(errs, err)
		}
		if _, err := proc.FindUser(f.User); err != nil {
			errs = append(errs, fmt.Errorf("fleets.%s.user: %w", name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Queues)) {
		_, err := settingsOf(name, cfg.Queues[name])
		errs = append(errs, err)
	}
	return errors.Join(append(errs, a.checkGuardFiles())...)
}

func (a *App) checkGuardFiles() error {
	var errs faults.List
	for i, r := range a.cfg.Routes {
		if r.Guard == nil {
			continue
		}
		_, err := limitsOf(r.Guard, nil)
		if errors.Is(err, fs.ErrNotExist) { // the store may have it
			err = nil
		}
		_, bad := a.hintsOf(routeName(i, r), r.Guard)
		for what, err := range map[string]error{"limits": err, "hints": bad} {
			errs.If(err != nil, "routes[%d].guard.%s: %w", i, what, err)
		}
	}
	return errors.Join(errs...)
}

// claim checks that this process can listen at its addresses.
func (a *App) claim(s *handover.Sockets) error {
	cfg := &a.cfg
	type place struct{ key, name, addr string }
	places := []place{{"admin", handover.Admin, cfg.Admin}}
	if cfg.ServesSQS() {
		places = append(places, place{"sqs", handover.SQS, cfg.SQS})
	}
	if len(cfg.Routes) > 0 && cfg.Listen != "" {
		places = append(places, place{"listen", handover.HTTP, cfg.Listen}, place{"tls.redirect", handover.Redirect, redirectFrom(cfg)})
		for i, l := range cfg.Listeners {
			places = append(places, place{fmt.Sprintf("listeners[%d]", i), handover.HTTP, l.Listen})
		}
	}
	for _, p := range places {
		if p.addr == "" {
			continue
		}
		if err := s.Claim(p.name, p.addr); err != nil {
			return fmt.Errorf("%s: %w", p.key, err)
		}
	}
	return nil
}

// listen returns a function that opens the listener of a name.
func (a *App) listen(name string) func(addr string) (net.Listener, error) {
	return func(addr string) (net.Listener, error) { return a.sockets.Listen(name, addr) }
}

// lastCall sets whether idle connections stay open for a moment when this process ends: new callers wait for the next
// process.
func (a *App) lastCall(outlive bool) {
	d := time.Duration(0)
	if outlive {
		d = lastCallFor
	}
	if a.front != nil {
		a.front.LastCall(d)
	}
	for _, s := range a.more {
		s.LastCall(d)
	}
	if a.sqs != nil {
		a.sqs.LastCall(d)
	}
}

// offer waits until another process has taken the listening sockets, and then calls end.
func (a *App) offer(ctx context.Context, end func()) error {
	if a.cfg.StateDir == "" || a.sockets.Outlive() {
		return nil
	}
	o, err := a.sockets.Offer(a.cfg.StateDir)
	if err != nil {
		a.log.Info("no other process can take over the listening sockets", "err", err)
		return nil
	}
	next, err := o.Await(ctx)
	if err != nil {
		a.log.Warn("no other process can take over the listening sockets any more", "err", err)
	}
	if next == nil {
		return nil
	}
	a.successor = next
	a.lastCall(true)
	a.log.Info("another process has taken over the listening sockets: finishing the work in flight")
	end()
	return nil
}

// relieve lets the process before end, because this one serves now.
func (a *App) relieve() {
	if a.before == nil {
		return
	}
	if err := a.before.Serves(); err != nil {
		a.log.Warn("the process that ran before was not told that this one serves", "err", err)
	}
}

// These bound how long a process waits for the one that has taken over: when it says so, and when it ends.
const (
	successorSlow = 30 * time.Second
	successorLate = 10 * time.Minute
)

// awaitSuccessor waits until the process that has taken over serves, and returns nil. If that process has ended before, it
// returns the listening sockets.
func (a *App) awaitSuccessor(ctx context.Context) (*handover.Sockets, error) {
	if a.successor == nil {
		return nil, nil
	}
	defer time.AfterFunc(successorSlow, func() {
		a.log.Warn("the process that has taken over does not serve yet, and callers wait: if it ends, this process serves again", "ends_in", successorLate-successorSlow)
	}).Stop()
	sockets, err := a.successor.Serves(ctx, successorLate)
	switch {
	case err != nil:
		return nil, fmt.Errorf("hand over: %w", err)
	case sockets != nil:
		a.log.Error("the process that had taken over has ended before it served: this process serves again")
	}
	return sockets, nil
}

// workersPatience is how long callers wait for the first worker of each fleet: a fleet without one delays the others.
const workersPatience = 10 * time.Second

// awaitWorkers waits until every fleet has a worker, if sockets were open before and callers wait on them. It returns false
// if ctx ended before.
func (a *App) awaitWorkers(ctx context.Context) bool {
	if !a.succeeds {
		return true
	}
	late := time.NewTimer(workersPatience)
	defer late.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, u := range a.now.Load().units {
		for u.fleet.Serving() == 0 && u.hopeless() == nil {
			select {
			case <-tick.C:
			case <-late.C:
				return true
			case <-ctx.Done():
				return false
			}
		}
	}
	return true
}
