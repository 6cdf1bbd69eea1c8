package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/outbox"
)

const (
	produceFor   = 30 * time.Second // one wave
	lookFor      = 5 * time.Second  // to find the topic
	defaultBatch = 1_000_012        // bytes, if the brokers do not tell
	recordRoom   = 128              // bytes of a record beside what it has
)

// SinkConfig says which topic events go to. Brokers, Topic and Source are required.
type SinkConfig struct {
	Client
	Topic  string
	Source string // of the CloudEvents
}

// Sink is a topic as a sink of an outbox. Make it with [NewSink].
//
// The events of one key are in one partition, in order. What is sent at once is one batch
// for each partition, which Kafka takes as a whole or not at all, so that no event
// overtakes an earlier one of its key that failed.
type Sink struct {
	cfg    SinkConfig
	turn   chan struct{} // has one in it while somebody sends
	client *kgo.Client   // nil until the topic was found
	most   int           // bytes of a batch
}

// SinkFromURL reads kafka://HOST[,HOST…]/TOPIC. Its parameters are sasl and those of
// [brokers.Address.TLS].
func SinkFromURL(text, source string, getenv func(string) string) (*Sink, error) {
	a, err := brokers.Parse(text, "9092", getenv)
	if err != nil {
		return nil, err
	}
	c := SinkConfig{Topic: a.Name, Source: source}
	if c.Client, err = ClientFrom(&a); err != nil {
		return nil, err
	}
	if err := a.Rest(); err != nil {
		return nil, err
	}
	return NewSink(c)
}

// NewSink returns a sink. It connects to nothing.
func NewSink(c SinkConfig) (*Sink, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Sink{cfg: c, turn: make(chan struct{}, 1)}, nil
}

// Validate reports every field that is at fault.
func (c SinkConfig) Validate() error {
	errs := faults.List{c.Client.Validate()}
	errs.If(!legalName.MatchString(c.Topic), "Topic: %.100q is not the name of a topic", c.Topic)
	errs.If(c.Source == "", "Source: is missing")
	return errors.Join(errs...)
}

// Close ends the connections.
func (s *Sink) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.drop()
	return nil
}

// drop forgets the client, and what it has not sent. The caller has the turn.
func (s *Sink) drop() {
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
}

// Send sends records, and returns when all in-sync replicas have them.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []error {
	if len(records) == 0 {
		return nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return outgoing.Failed(records, ctx.Err())
	}
	if err := s.open(ctx); err != nil {
		return outgoing.Failed(records, err)
	}
	b := &batchSend{sink: s, records: records, results: make([]error, len(records)), failed: map[outgoing.Lane]bool{}}
	b.run(ctx)
	return b.results
}

// open finds the topic, and how large its records may be.
func (s *Sink) open(ctx context.Context) error {
	if s.client != nil {
		return nil
	}
	look, err := kgo.NewClient(append(s.cfg.Options(), kgo.RetryTimeout(lookFor), kgo.RequestRetries(2))...)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	defer look.Close()
	n, err := partitions(ctx, look, s.cfg.Topic)
	switch {
	case err != nil:
		return s.cfg.explainSink(err)
	case n == 0:
		return &brokers.Error{
			Kind: brokers.Missing, Err: fmt.Errorf("there is no topic %s", s.cfg.Topic),
			Fix: "kafka-topics.sh --create --topic " + s.cfg.Topic + " makes one",
		}
	}
	if s.most = maxMessage(ctx, look, s.cfg.Topic); s.most == 0 {
		s.most = defaultBatch
	}
	s.most = min(max(s.most, 1024), 1<<30)
	client, err := kgo.NewClient(append(s.cfg.Options(),
		kgo.DefaultProduceTopic(s.cfg.Topic), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchMaxBytes(int32(s.most)),
		kgo.ManualFlushing(), kgo.RecordDeliveryTimeout(produceFor), kgo.MaxBufferedRecords(1<<20),
	)...)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	s.client = client
	return nil
}

// explainSink says what to do about an error, if that is known.
func (c SinkConfig) explainSink(err error) error {
	err = (&Source{cfg: Config{Client: c.Client}}).explain(err)
	if b, ok := errors.AsType[*brokers.Error](err); ok && isDenied(b.Err) {
		b.Fix = "the user needs write and describe on the topic"
	}
	return err
}

// batchSend is what one Send does.
type batchSend struct {
	sink    *Sink
	records []outbox.Record
	results []error
	failed  map[outgoing.Lane]bool

	wave []int
	size int
	away error // the topic did not acknowledge a wave: no other one is begun
}

// run sends wave after wave. Each is of a size that becomes one batch of each partition
// at most; a large record is a wave of its own.
func (b *batchSend) run(ctx context.Context) {
	most := b.sink.most
	for i := range b.records {
		size := recordSize(&b.records[i])
		if b.size+size > most*3/4 || size > most/4 {
			b.flush(ctx)
		}
		b.wave, b.size = append(b.wave, i), b.size+size
		if size > most/4 {
			b.flush(ctx)
		}
	}
	b.flush(ctx)
}

// flush sends the wave. What was refused together with others is sent again by itself, to
// learn whose fault that is.
func (b *batchSend) flush(ctx context.Context) {
	var going []int
	for _, i := range b.wave {
		if r := &b.records[i]; r.Key != "" && b.failed[outgoing.LaneOf(r)] {
			b.results[i] = outbox.ErrBehind
		} else {
			going = append(going, i)
		}
	}
	b.wave, b.size = nil, 0
	shared := b.send(ctx, going)
	for _, i := range shared {
		if r := &b.records[i]; r.Key != "" && b.failed[outgoing.LaneOf(r)] {
			b.results[i] = outbox.ErrBehind
		} else {
			b.send(ctx, []int{i})
		}
	}
}

// produced is what became of one record.
type produced struct {
	i         int
	partition int32
	err       error
}

// send produces records, notes the results, and returns those that a broker refused
// together with others.
func (b *batchSend) send(ctx context.Context, going []int) (shared []int) {
	s := b.sink
	if len(going) == 0 {
		return nil
	}
	err := ctx.Err()
	if err == nil {
		err = b.away
	}
	var all []produced
	if err == nil {
		all, err = s.produce(ctx, b.records, going)
	}
	if err != nil {
		b.away = err
		for _, i := range going {
			b.note(i, err)
		}
		return nil
	}
	in := map[int32]int{}
	for _, p := range all {
		in[p.partition]++
	}
	for _, p := range all {
		switch {
		case isRefusal(p.err) && len(going) == 1:
			b.note(p.i, outgoing.Refused("topic %s takes no record such as this one of %d bytes: %v", s.cfg.Topic, recordSize(&b.records[p.i]), p.err))
		case isRefusal(p.err):
			shared = append(shared, p.i)
		case p.err != nil:
			b.note(p.i, s.cfg.explainSink(fmt.Errorf("send to topic %s: %w", s.cfg.Topic, p.err)))
		}
	}
	return shared
}

// note keeps the result of a record that failed.
func (b *batchSend) note(i int, err error) {
	lane := outgoing.LaneOf(&b.records[i])
	if lane.Keyed() && b.failed[lane] {
		err = outbox.ErrBehind
	}
	b.results[i] = err
	b.failed[lane] = true
}

// isRefusal reports whether an error is about a record, or the batch that it was in.
func isRefusal(err error) bool {
	for _, e := range []error{kerr.MessageTooLarge, kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.RecordListTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// produce sends one wave, in the order of its records. An error is about all of it.
func (s *Sink) produce(ctx context.Context, records []outbox.Record, going []int) ([]produced, error) {
	ctx, cancel := context.WithTimeout(ctx, produceFor)
	defer cancel()
	done := make(chan produced, len(going))
	for _, i := range going {
		s.client.Produce(ctx, s.record(&records[i]), func(r *kgo.Record, err error) { done <- produced{i, r.Partition, err} })
	}
	if err := s.client.Flush(ctx); err != nil {
		s.drop() // what is under way would be there twice
		return nil, fmt.Errorf("topic %s has not acknowledged it: %w", s.cfg.Topic, err)
	}
	all := make([]produced, len(going))
	for n := range all {
		all[n] = <-done
	}
	return all, nil
}

// record is an event as CloudEvents over Kafka have it.
func (s *Sink) record(r *outbox.Record) *kgo.Record {
	out := &kgo.Record{Value: r.Payload}
	if out.Value == nil {
		out.Value = []byte{} // without a value it would be a tombstone
	}
	if r.Key != "" {
		out.Key = []byte(r.Key)
	}
	add := func(name, value string) {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	for _, p := range outgoing.Attributes(r, s.cfg.Source) {
		add("ce_"+p.Name, p.Value)
	}
	add("content-type", outgoing.ContentType(r))
	for _, p := range outgoing.Headers(r) {
		add(p.Name, p.Value)
	}
	return out
}

// recordSize is about how large a record is in a batch.
func recordSize(r *outbox.Record) int {
	n := recordRoom + len(r.ID) + len(r.Topic) + len(r.Type) + 2*len(r.Key) + len(r.Payload)
	for name, value := range r.Headers {
		n += len(name) + len(value) + 8
	}
	return n
}
