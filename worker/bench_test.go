//go:build unix

package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

const benchChildren = 4

// Messages a second with four small children at a time: a worker, with all that
// it does, beside the loop that one would write by hand with the same client and
// the same command.
func BenchmarkMessages(b *testing.B) {
	for _, kind := range []string{"direct", "bezoar", "foreign"} {
		b.Run(kind, func(b *testing.B) {
			r := filled(b)
			var done, ran atomic.Int64
			all := make(chan struct{})
			w, err := worker.New(worker.Config{
				Source: r.source(kind, "jobs"), Command: worker.Command{Args: []string{"/bin/true"}}, Concurrency: benchChildren,
				State: b.TempDir(), Observe: func(e worker.Event) {
					ran.Add(int64(e.Elapsed))
					if e.Outcome == worker.OutcomeDone && done.Add(1) == int64(b.N) {
						close(all)
					}
				},
			})
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			before := spent(b)
			b.ResetTimer()
			go func() { ended <- w.Run(ctx) }()
			<-all
			b.StopTimer()
			report(b, before)
			b.ReportMetric(float64(ran.Load())/float64(b.N)/1000, "µs/run")
			if n := r.calls.of("ReceiveMessage"); n > 0 {
				b.ReportMetric(float64(b.N)/float64(n), "messages/receive")
				b.ReportMetric(float64(b.N)/float64(r.calls.of("DeleteMessage")+r.calls.of("DeleteMessageBatch")), "messages/delete")
			}
			stop()
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		})
	}
	for kind, url := range map[string]func(r *rig) string{"bezoar": func(r *rig) string { return r.url }, "foreign": func(r *rig) string { return r.foreign }} {
		b.Run("by-hand/"+kind, func(b *testing.B) {
			r := filled(b)
			before := spent(b)
			b.ResetTimer()
			byHand(b, client(url(r)), url(r)+"jobs")
			b.StopTimer()
			report(b, before)
		})
	}
}

// spent is the processor time of this process and of the children that it has
// waited for.
func spent(b *testing.B) time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return total
}

func report(b *testing.B, before time.Duration) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
	b.ReportMetric(float64((spent(b)-before).Microseconds())/float64(b.N), "cpu-µs/message")
}

func filled(b *testing.B) *rig {
	r := newRig(b)
	r.create("jobs", nil)
	for n := 0; n < b.N; {
		var in []queue.SendInput
		for ; n < b.N && len(in) < queue.MaxBatch; n++ {
			in = append(in, queue.SendInput{Body: fmt.Appendf(nil, "message number %d", n)})
		}
		if _, err := r.engine.SendBatch(b.Context(), "jobs", in); err != nil {
			b.Fatal(err)
		}
	}
	return r
}

// byHand is the loop of the SDK's examples: receive ten, run each, delete it.
func byHand(b *testing.B, c *awssqs.Client, url string) {
	var done atomic.Int64
	var loops sync.WaitGroup
	for range benchChildren {
		loops.Go(func() {
			for done.Load() < int64(b.N) {
				out, err := c.ReceiveMessage(b.Context(), &awssqs.ReceiveMessageInput{
					QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, VisibilityTimeout: 60,
				})
				if err != nil {
					b.Error(err)
					return
				}
				for _, m := range out.Messages {
					cmd := exec.Command("/bin/true")
					cmd.Stdin = bytes.NewReader([]byte(aws.ToString(m.Body)))
					var said bytes.Buffer
					cmd.Stdout, cmd.Stderr = &said, &said
					if err := cmd.Run(); err != nil {
						b.Error(err)
						return
					}
					if _, err := c.DeleteMessage(b.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
						b.Error(err)
						return
					}
					if done.Add(1) == int64(b.N) {
						b.StopTimer() // others wait for a message that does not come
					}
				}
			}
		})
	}
	loops.Wait()
}
