package sinktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/outbox"
)

// again checks that a repeated delivery has the same ID, and appears once if the
// destination deduplicates.
func again(t *testing.T, traits Traits, p Place) {
	s := sink(t, p)
	records := []outbox.Record{Record(1, "k"), Record(2, "k"), Record(3, "")}
	mustSend(t, s, records...)
	mustSend(t, s, records...)
	mustSend(t, sink(t, p), Record(2, "k"), Record(4, "k"))
	all := p.Delivered(t)
	inOrder(t, all)
	want := 8
	if traits.Dedups {
		want = 4
	}
	if ids := positions(all); len(all) != want || len(ids) != 4 {
		t.Errorf("%d are there, of %d IDs; want %d of 4", len(all), len(ids), want)
	}
}

// together sends from several goroutines at once.
func together(t *testing.T, _ Traits, p Place) {
	s := sink(t, p)
	const callers, each = 4, 50
	ended := make(chan []error, callers)
	for c := range callers {
		go func() {
			var records []outbox.Record
			for i := range each {
				records = append(records, Record(int64(c*each+i+1), fmt.Sprint("key ", c, i%3)))
			}
			ended <- s.Send(t.Context(), records)
		}()
	}
	for range callers {
		for _, err := range <-ended {
			suite.Must(t, err)
		}
	}
	all := p.Delivered(t)
	suite.ErrorIf(t, len(all) != callers*each || len(positions(all)) != callers*each, "%d are there, want %d", len(all), callers*each)
	inOrder(t, all)
}

// ended checks that nothing is sent after the end of the context, and that the results say
// so.
func ended(t *testing.T, _ Traits, p Place) {
	s := sink(t, p)
	mustSend(t, s, Record(1, "k"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, err := range sendWithin(ctx, t, s, []outbox.Record{Record(2, "k"), Record(3, "k"), Record(4, "")}) {
		suite.ErrorIf(t, !errors.Is(err, context.Canceled) && (i != 1 || !errors.Is(err, outbox.ErrBehind)), "record %d: %v, want that the context has ended", i, err)
	}
	if all := p.Delivered(t); len(all) != 1 {
		t.Errorf("%d are there, want 1", len(all))
	}
	mustSend(t, s, Record(2, "k"))
}

// nothing sends no records, and closes the sink twice.
func nothing(t *testing.T, _ Traits, p Place) {
	s := p.Sink(t)
	send(t, s)
	closed(t, s)
	closed(t, s)
}

// away checks that no record is blamed while the destination is unreachable.
func away(t *testing.T, traits Traits, _ Place) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	suite.Must(t, err)
	address := l.Addr().String()
	_ = l.Close() // no process listens at this address now
	s := traits.At(t, address)
	t.Cleanup(func() { closed(t, s) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	blameless(t, sendWithin(ctx, t, s, three()))
}

func three() []outbox.Record { return []outbox.Record{Record(1, "k"), Record(2, "k"), Record(3, "")} }

// blameless checks that all results are failures, none of them blamed on the record.
func blameless(t *testing.T, results []error) {
	t.Helper()
	for i, err := range results {
		f, blames := errors.AsType[*outbox.Failure](err)
		suite.ErrorIf(t, err == nil || blames && (f.Class == bezoar.Invalid || f.Class == bezoar.Bug), "record %d: %v, want a fault of the place", i, err)
	}
	suite.ErrorIf(t, errors.Is(results[0], outbox.ErrBehind), "the first one says nothing of what is wrong")
	suite.ErrorIf(t, !errors.Is(results[1], outbox.ErrBehind) && len(results) == 3, "the second one of a key: %v, want that it is behind", results[1])
}

// silent checks that the end of the context ends the wait for a destination that does not
// answer.
func silent(t *testing.T, traits Traits, _ Place) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	suite.Must(t, err)
	defer l.Close()
	s := traits.At(t, l.Addr().String()) // the kernel accepts connections, but no process answers
	t.Cleanup(func() { closed(t, s) })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	ended := make(chan []error, 1)
	go func() { ended <- s.Send(ctx, three()) }()
	select {
	case results := <-ended:
		blameless(t, results)
		suite.ErrorIf(t, !errors.Is(results[0], context.DeadlineExceeded), "it says %v, want that the context has ended", results[0])
	case <-time.After(patience):
		t.Fatal("it goes on beyond its context")
	}
	began := time.Now()
	closed(t, s)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to close", took)
	}
}
