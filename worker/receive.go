package worker

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/queue"
)

const (
	leastPause = 200 * time.Millisecond // after a receive that failed; doubles
	mostPause  = 10 * time.Second
	doorTime   = 20 * time.Millisecond
	maxAhead   = 64
	gateEvery  = 5 * time.Second // how long a closed gate is trusted
)

// receive receives while there are slots, until ctx ends. What is received runs
// under running.
func (w *Worker) receive(ctx, running context.Context) error {
	pause, more := leastPause, false
	for {
		free := w.slots.wait(ctx, w.ahead(more))
		if free == 0 {
			return nil
		}
		if w.dangers.Load() > 0 { // nothing is to be in hand beside it
			sleep(ctx, dangerPause)
			continue
		}
		trial, ok := w.gate(ctx)
		if !ok {
			continue
		}
		most := min(free, w.about.Batch)
		if trial != nil || w.single() {
			most = 1
		}
		began := time.Now()
		got, err := w.cfg.Source.Receive(ctx, Receive{
			Max: most, Visibility: w.cfg.Visibility, Wait: w.waits(),
			Worker: w.cfg.Name + "#" + strconv.FormatUint(w.serial.Add(1), 10), Life: w.life, Missed: w.fresh,
		})
		if len(got) == 0 && trial != nil {
			w.judge.Waste(time.Now(), trial)
		}
		switch {
		case err == nil:
			pause = leastPause
			if len(got) == 0 {
				w.empty.Store(began.UnixNano())
				w.ask(ctx)
			} else if trial == nil {
				w.announce("")
			}
		case ctx.Err() != nil:
			return nil
		case isPermanent(err):
			return err
		default:
			w.cfg.Log.Error("cannot receive", "queue", w.about.Queue, "err", err, "again_in", pause)
			sleep(ctx, pause)
			pause = min(2*pause, mostPause)
		}
		more = len(got) == most && trial == nil
		w.dispatch(ctx, running, got, began, trial)
	}
}

// waits is how long a receive waits for messages: see hold.
func (w *Worker) waits() time.Duration {
	return min(queue.MaxWait, (w.cfg.Visibility / 2).Truncate(time.Second))
}

// ahead is how many messages may wait at the door. While many small ones wait in
// the queue, receiving them one by one would take longer than to run them: so
// many may wait as have their turn within doorTime. more says that the last
// receive was a full one.
func (w *Worker) ahead(more bool) int {
	took := time.Duration(w.took.Load())
	if !more || w.about.FIFO || took == 0 || took > doorTime {
		return 0
	}
	return min(int(doorTime/took)*w.cfg.Concurrency, 2*min(w.about.Batch, maxAhead/2))
}

// gate asks the judge whether to receive. When it says no it waits.
func (w *Worker) gate(ctx context.Context) (*judge.Trial, bool) {
	if w.judge == nil {
		return nil, true
	}
	g := w.judge.Gate(time.Now())
	switch {
	case !g.Open:
		w.announce(g.Why)
		sleep(ctx, min(g.Wait, gateEvery))
	case g.Trial == nil:
		w.announce("")
	}
	return g.Trial, g.Open
}

// judged complains of a judge that could not do its work.
func (w *Worker) judged(doing string, err error) {
	if err != nil {
		w.cfg.Log.Error("cannot "+doing, "queue", w.about.Queue, "err", err)
	}
}

// dispatch starts what was received: each message by itself, but those of one
// group of a FIFO queue one after another.
func (w *Worker) dispatch(receiving, running context.Context, got []Message, began time.Time, trial *judge.Trial) {
	if len(got) == 0 {
		return
	}
	w.slots.take(len(got))
	w.messages.Add(len(got))
	var all []*delivery
	var chains [][]*delivery
	groups := map[string]int{}
	for i := range got {
		d := w.newDelivery(receiving, running, got[i], began, trial)
		if d.danger = w.mayKill(&got[i]); d.danger {
			w.dangers.Add(1)
		}
		all = append(all, d)
		if g := got[i].Group; w.about.FIFO && g != "" {
			at, ok := groups[g]
			if ok {
				chains[at] = append(chains[at], d)
				continue
			}
			groups[g] = len(chains)
		}
		chains = append(chains, []*delivery{d})
	}
	go func() {
		w.admit(all)
		for _, chain := range chains {
			go w.chain(chain)
		}
	}()
}

// chain works on the messages of one group in their order. When one of them may
// come again, those behind it are given back first, the last one first, so that
// none overtakes it.
func (w *Worker) chain(chain []*delivery) {
	for i, d := range chain {
		d.run()
		if d.res.class != bezoar.Done {
			for n := len(chain) - 1; n > i; n-- {
				chain[n].res = result{class: bezoar.Interrupted, reason: "the message before it in its group was not done"}
				chain[n].report()
			}
			d.report()
			return
		}
		d.report()
	}
}

func isPermanent(err error) bool {
	var p *PermanentError
	return errors.As(err, &p)
}

// PermanentError is an error of a Source that will not go away. The worker stops.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }
func (e *PermanentError) Unwrap() error { return e.Err }

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
