// Brokers measures how many messages a second bezoar work does of a message broker's
// queue, beside a bare consumer with the broker's usual Go client that starts the same
// child for each message, as many at a time, and acknowledges what has ended.
//
//	go run ./brokers -bezoar ../../bin/bezoar [-messages 2000] [-rounds 3]
//
// Kafka is kfake, a broker in this process; RabbitMQ is the server that
// BEZOAR_TEST_RABBITMQ names. Rounds take turns, and the ratio is that of
// the medians.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
)

// queue is a queue of a broker that was filled.
type queue interface {
	url() string // for bezoar work
	// bare consumes n messages: run runs one.
	bare(ctx context.Context, n int, run func(body []byte) error) error
	close()
}

// setup is what is measured.
type setup struct {
	bezoar   string
	messages int
	rounds   int
	at       int // messages at a time
	dir      string
}

// child is what is started for each message.
var child = []string{"/bin/cat"} //nolint:gochecknoglobals // a constant, if slices could be

func main() {
	var s setup
	flag.StringVar(&s.bezoar, "bezoar", "", "the program to measure")
	flag.IntVar(&s.messages, "messages", 2000, "in each round")
	flag.IntVar(&s.rounds, "rounds", 3, "of which the median counts")
	flag.IntVar(&s.at, "concurrency", 4, "messages at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "brokers:", err)
		os.Exit(1) //nolint:gocritic // nothing of ours is left to be stopped
	}
}

func (s *setup) run(ctx context.Context) (err error) {
	if s.bezoar == "" {
		return errors.New("-bezoar names no program")
	}
	if s.bezoar, err = filepath.Abs(s.bezoar); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "bench-brokers-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	fmt.Printf("%-10s %14s %14s %7s\n", "", "bare consumer", "bezoar work", "ratio")
	for _, b := range []struct {
		name string
		fill func(ctx context.Context, n int) (queue, error)
	}{{"kafka", fillKafka}, {"rabbitmq", fillRabbit(s.at)}} {
		if b.name == "rabbitmq" && os.Getenv("BEZOAR_TEST_RABBITMQ") == "" {
			fmt.Println("rabbitmq   not measured: BEZOAR_TEST_RABBITMQ names no server (scripts/rabbitmq start)")
			continue
		}
		var bare, ours []float64
		for i := range s.rounds {
			one, err := s.round(ctx, b.fill, s.bare)
			if err != nil {
				return fmt.Errorf("%s, bare: %w", b.name, err)
			}
			two, err := s.round(ctx, b.fill, s.work)
			if err != nil {
				return fmt.Errorf("%s, bezoar: %w", b.name, err)
			}
			bare, ours = append(bare, one), append(ours, two)
			fmt.Fprintf(os.Stderr, "%s, round %d: %.0f/s and %.0f/s\n", b.name, i+1, one, two)
		}
		fmt.Printf("%-10s %12.0f/s %12.0f/s %7.2f\n", b.name, rig.Median(bare), rig.Median(ours), rig.Median(ours)/rig.Median(bare))
	}
	return nil
}

// round fills a queue and measures messages a second, between the first tenth of them
// and the last.
func (s *setup) round(ctx context.Context, fill func(context.Context, int) (queue, error), consume func(context.Context, queue, func()) error) (float64, error) {
	q, err := fill(ctx, s.messages)
	if err != nil {
		return 0, err
	}
	defer q.close()
	var began, last time.Time
	n := 0
	err = consume(ctx, q, func() {
		if n++; n == s.messages/10 {
			began = time.Now()
		}
		last = time.Now()
	})
	if err == nil && n < s.messages {
		err = fmt.Errorf("%d of %d messages were done", n, s.messages)
	}
	return float64(s.messages-s.messages/10) / last.Sub(began).Seconds(), err
}

func (s *setup) bare(ctx context.Context, q queue, done func()) error {
	all := make(chan struct{}, s.messages)
	slots := make(chan struct{}, s.at)
	ended := make(chan error, 1)
	go func() {
		defer close(all)
		ended <- q.bare(ctx, s.messages, func(body []byte) error {
			slots <- struct{}{}
			defer func() { <-slots }()
			cmd := exec.CommandContext(ctx, child[0], child[1:]...)
			cmd.Stdin = bytes.NewReader(body)
			if _, err := cmd.Output(); err != nil {
				return err
			}
			all <- struct{}{}
			return nil
		})
	}()
	for range all {
		done()
	}
	return <-ended
}

func (s *setup) work(ctx context.Context, q queue, done func()) error {
	args := append([]string{
		"work", "--queue", q.url(), "--json", "--output", "none", "--concurrency", fmt.Sprint(s.at), "--until-idle", "5s", "--log", "error", "--",
	}, child...)
	cmd := exec.CommandContext(ctx, s.bezoar, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+s.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e struct{ Outcome string }
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Outcome == "done" {
			done()
		}
	}
	return cmd.Wait()
}
