package outbox

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// scan looks for topics with ready events and starts their loops, until the work ends. It
// polls often after it found events, and less often when there are none.
func (l *leader) scan() {
	const (
		calm  = 500 * time.Millisecond // while a feed reports events
		share = 4
	)
	wait := l.c.PollBusy
	for l.work.Err() == nil {
		var topics []string
		began := time.Now()
		if !l.store(l.work, func() (err error) {
			topics, err = l.c.Store.Ready(l.work, l.epoch)
			return err
		}) {
			return
		}
		wait = min(2*wait, l.c.PollIdle)
		if l.startAll(topics) {
			wait = l.c.PollBusy
		}
		// A transaction that stays open for a long time makes polling slow, because the
		// database cannot remove the rows of delivered events. This limits polling to a
		// share of the time.
		still := max(wait, share*time.Since(began))
		if l.isFed() && len(topics) == 0 {
			still = max(calm, still)
		}
		select {
		case <-time.After(still):
		case <-l.woken:
		case <-l.work.Done():
		}
	}
}

// startAll starts the loops of topics, and raises alarms about topics that make no
// progress.
func (l *leader) startAll(topics []string) (started bool) {
	var unrouted, active []string
	for _, topic := range topics {
		sink, ok := l.route(topic)
		if !ok {
			unrouted = append(unrouted, topic)
			l.counts.unrouted(topic)
			continue
		}
		if !l.gates[sink].paused() {
			active = append(active, topic)
		}
		started = l.start(topic, sink) || started
	}
	l.sayOf(alarmUnrouted, unrouted, "no sink matches the events of")
	l.sayOf(alarmNoProgress, l.counts.polled(active, l.c.Stalled), fmt.Sprintf("for %v no event was settled, although events are ready, of", l.c.Stalled))
	return started
}

// sayOf sets an alarm about topics, or clears it if there are none.
func (l *leader) sayOf(kind string, topics []string, what string) {
	const some = 5
	switch n := len(topics); {
	case n == 0:
		l.alarms.clear(kind)
	case n > some:
		l.alarms.set(kind, "", fmt.Sprintf("%s %d topics, such as %s", what, n, strings.Join(topics[:some], ", ")))
	default:
		l.alarms.set(kind, "", what+" "+strings.Join(topics, ", "))
	}
}

// start starts the loop of a topic, or makes a running loop look again before it ends. It
// reports whether it started the loop.
func (l *leader) start(topic string, sink int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.work.Err() != nil {
		return false
	}
	if t := l.topics[topic]; t != nil {
		t.again = true
		return false
	}
	t := &topicLoop{leader: l, topic: topic, sink: l.c.Sinks[sink], gate: l.gates[sink]}
	l.topics[topic] = t
	l.loops.Go(t.run)
	return true
}

// upkeep repeats small steps of housekeeping, and counts parked events.
func (l *leader) upkeep() {
	const often = 15 * time.Second
	for l.work.Err() == nil {
		u, err := l.c.Store.Upkeep(l.work, l.epoch, l.c.Keep)
		switch {
		case errors.Is(err, ErrFenced):
			l.lost("another relay has taken over")
			return
		case err != nil && l.work.Err() == nil:
			l.c.Log.Warn("housekeeping of the outbox failed; it will be tried again", "error", err)
		}
		if parked, err := l.c.Store.Count(l.work, Query{State: Parked}); err == nil && parked > 0 {
			l.alarms.set(alarmParked, "", fmt.Sprintf("events parked, waiting for a decision: %d", parked))
		} else if err == nil {
			l.alarms.clear(alarmParked)
		}
		wait := min(often, max(l.c.Keep/100, 100*time.Millisecond))
		switch {
		case u.More:
			wait = 100 * time.Millisecond
		case u.Busy:
			wait = min(wait, time.Second)
		}
		pause(l.work, wait)
	}
}

// wake listens for notifications if Config.Wake is set.
func (l *leader) wake() {
	w, ok := l.c.Store.(Waker)
	if !l.c.Wake || !ok {
		return
	}
	l.repeat(alarmWake, func() error {
		return w.Wake(l.work, func() {
			l.alarms.clear(alarmWake)
			select {
			case l.woken <- struct{}{}:
			default:
			}
		})
	})
}

func (l *leader) feed() {
	if l.c.Feed == nil {
		return
	}
	l.repeat(alarmFeed, func() error {
		defer l.setFed(false)
		return l.c.Feed.Run(l.work, l.give)
	})
}

// repeat runs f until the work ends, with pauses that grow after quick failures.
func (l *leader) repeat(alarm string, f func() error) {
	wait := 100 * time.Millisecond
	for l.work.Err() == nil {
		began := time.Now()
		err := f()
		if l.work.Err() != nil {
			break
		}
		if err == nil {
			err = errors.New("it stopped")
		}
		l.alarms.set(alarm, "", fmt.Sprintf("%v; the relay polls instead", err))
		if wait = min(2*wait, 30*time.Second); time.Since(began) > time.Minute {
			wait = 100 * time.Millisecond
		}
		pause(l.work, wait)
	}
	l.alarms.clear(alarm)
}

func (l *leader) isFed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.feeding
}

func (l *leader) setFed(on bool) {
	l.mu.Lock()
	l.feeding = on
	l.mu.Unlock()
}

// give stores the feed's records and starts the loops of their topics.
func (l *leader) give(records []Record) {
	l.setFed(true)
	l.alarms.clear(alarmFeed)
	l.counts.fed(len(records))
	l.cache.put(l.work, records)
	last := ""
	for _, r := range records {
		if r.Topic == last {
			continue
		}
		last = r.Topic
		if sink, ok := l.route(r.Topic); ok {
			l.start(r.Topic, sink)
		}
	}
}
