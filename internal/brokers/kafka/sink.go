package kafka

import (
	"cmp"
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
	produceFor   = 30 * time.Second // time limit of one wave
	lookFor      = 5 * time.Second  // time limit for finding the topic
	defaultBatch = 1_000_012        // bytes, if the brokers do not report a limit
	recordRoom   = 128              // overhead of a record in bytes
)

// SinkConfig configures a sink. Brokers, Topic and Source are required.
type SinkConfig struct {
	Client
	Topic  string
	Source string // CloudEvents source
}

// Sink sends events of an outbox to a topic. Create it with [NewSink].
//
// Events of one key go to one partition, in order. The sink sends at most one batch per
// partition at a time. Kafka accepts or refuses a batch as a whole, so no event overtakes a
// failed earlier event of its key.
type Sink struct {
	cfg    SinkConfig
	turn   chan struct{} // holds one value while a call sends
	client *kgo.Client   // nil until the topic was found
	most   int           // maximum bytes of a batch
}

// SinkFromURL parses kafka://HOST[,HOST…]/TOPIC. The parameters are sasl and those of
// [brokers.Address.TLS].
func SinkFromURL(text, source string, getenv func(string) string) (*Sink, error) {
	c, err := brokers.FromURL(text, "9092", getenv, func(a *brokers.Address) SinkConfig {
		return SinkConfig{Client: ClientFrom(a), Topic: a.Name, Source: source}
	})
	if err != nil {
		return nil, err
	}
	return NewSink(c)
}

// NewSink returns a sink. It does not connect.
func NewSink(c SinkConfig) (*Sink, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Sink{cfg: c, turn: make(chan struct{}, 1)}, nil
}

// Validate returns one error that names every invalid field, or nil.
func (c SinkConfig) Validate() error {
	errs := faults.List{c.Client.Validate()}
	errs.If(!legalName.MatchString(c.Topic), "Topic: %.100q is not a valid topic name", c.Topic)
	errs.If(c.Source == "", "Source: missing")
	return errors.Join(errs...)
}

func (s *Sink) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.drop()
	return nil
}

// drop closes the client and discards its unsent records. The caller has the turn.
func (s *Sink) drop() {
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
}

// Send sends records. It returns after all in-sync replicas have stored them.
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

// open finds the topic and its maximum record size.
func (s *Sink) open(ctx context.Context) error {
	if s.client != nil {
		return nil
	}
	look, err := kgo.NewClient(append(s.cfg.Options(), kgo.RetryTimeout(lookFor), kgo.RequestRetries(2))...)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	defer look.Close()
	n, err := partitions(ctx, look, s.cfg.Topic)
	switch {
	case err != nil:
		return s.cfg.explainSink(err)
	case n == 0:
		return &brokers.Error{
			Kind: brokers.Missing, Err: fmt.Errorf("there is no topic %s", s.cfg.Topic),
			Fix: "kafka-topics.sh --create --topic " + s.cfg.Topic + " creates it",
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
		return fmt.Errorf("create a client: %w", err)
	}
	s.client = client
	return nil
}

// explainSink adds advice to known errors.
func (c SinkConfig) explainSink(err error) error {
	err = (&Source{cfg: Config{Client: c.Client}}).explain(err)
	if b, ok := errors.AsType[*brokers.Error](err); ok && isDenied(b.Err) {
		b.Fix = "the user needs the permissions write and describe on the topic"
	}
	return err
}

// batchSend is the state of one call of Send.
type batchSend struct {
	sink    *Sink
	records []outbox.Record
	results []error
	failed  map[outgoing.Lane]bool

	wave []int
	size int
	away error // the topic did not acknowledge a wave: no further wave starts
}

// run sends wave after wave. A wave fits into one batch per partition. A large record is a
// wave of its own.
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

// flush sends the wave. It sends records that were refused as part of a batch once more,
// each alone, to find the cause.
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

// produced is the result of one record.
type produced struct {
	i         int
	partition int32
	err       error
}

// send produces records and stores the results. It returns the records that a broker
// refused together with others.
func (b *batchSend) send(ctx context.Context, going []int) (shared []int) {
	s := b.sink
	if len(going) == 0 {
		return nil
	}
	err := cmp.Or(ctx.Err(), b.away)
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
			b.note(p.i, outgoing.Refused("topic %s does not accept this record of %d bytes: %v", s.cfg.Topic, recordSize(&b.records[p.i]), p.err))
		case isRefusal(p.err):
			shared = append(shared, p.i)
		case p.err != nil:
			b.note(p.i, s.cfg.explainSink(fmt.Errorf("send to topic %s: %w", s.cfg.Topic, p.err)))
		}
	}
	return shared
}

// note stores the result of a failed record.
func (b *batchSend) note(i int, err error) {
	lane := outgoing.LaneOf(&b.records[i])
	if lane.Keyed() && b.failed[lane] {
		err = outbox.ErrBehind
	}
	b.results[i] = err
	b.failed[lane] = true
}

// isRefusal reports whether an error concerns a record, or its batch.
func isRefusal(err error) bool {
	for _, e := range []error{kerr.MessageTooLarge, kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.RecordListTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// produce sends one wave in order. An error applies to the whole wave.
func (s *Sink) produce(ctx context.Context, records []outbox.Record, going []int) ([]produced, error) {
	ctx, cancel := context.WithTimeout(ctx, produceFor)
	defer cancel()
	done := make(chan produced, len(going))
	for _, i := range going {
		s.client.Produce(ctx, s.record(&records[i]), func(r *kgo.Record, err error) { done <- produced{i, r.Partition, err} })
	}
	if err := s.client.Flush(ctx); err != nil {
		s.drop() // records under way could be stored twice
		return nil, fmt.Errorf("topic %s did not acknowledge the records: %w", s.cfg.Topic, err)
	}
	all := make([]produced, len(going))
	for n := range all {
		all[n] = <-done
	}
	return all, nil
}

// record converts an event to a record, according to CloudEvents for Kafka.
func (s *Sink) record(r *outbox.Record) *kgo.Record {
	out := &kgo.Record{Value: r.Payload}
	if out.Value == nil {
		out.Value = []byte{} // a nil value would be a tombstone
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

// recordSize estimates the size of a record in a batch.
func recordSize(r *outbox.Record) int {
	n := recordRoom + len(r.ID) + len(r.Topic) + len(r.Type) + 2*len(r.Key) + len(r.Payload)
	for name, value := range r.Headers {
		n += len(name) + len(value) + 8
	}
	return n
}
