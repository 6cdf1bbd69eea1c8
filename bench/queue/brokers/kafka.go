package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const topic = "orders"

type kafka struct{ fake *kfake.Cluster }

// fillKafka makes a topic of eight partitions.
func fillKafka(ctx context.Context, n int) (queue, error) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(8, topic))
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		fake.Close()
		return nil, err
	}
	defer client.Close()
	all := make([]*kgo.Record, n)
	for i := range all {
		all[i] = &kgo.Record{Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, `{"order": %d, "price": 12, "note": "a body like no other"}`, i)}
	}
	if err := client.ProduceSync(ctx, all...).FirstErr(); err != nil {
		fake.Close()
		return nil, err
	}
	return &kafka{fake}, nil
}

func (k *kafka) close() { k.fake.Close() }

func (k *kafka) url() string {
	return "kafka://" + strings.Join(k.fake.ListenAddrs(), ",") + "/" + topic + "?group=bezoar"
}

// bare commits after each poll what was polled.
func (k *kafka) bare(ctx context.Context, n int, run func([]byte) error) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(k.fake.ListenAddrs()...), kgo.ConsumeTopics(topic), kgo.ConsumerGroup("bare"), kgo.DisableAutoCommit())
	if err != nil {
		return err
	}
	defer client.Close()
	for n > 0 {
		got := client.PollRecords(ctx, 100)
		if err := got.Err(); err != nil {
			return err
		}
		var running sync.WaitGroup
		var once sync.Once
		var failure error
		for _, r := range got.Records() {
			n--
			running.Go(func() {
				if err := run(r.Value); err != nil {
					once.Do(func() { failure = err })
				}
			})
		}
		running.Wait()
		if failure != nil {
			return failure
		}
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
	return nil
}
