package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/regular"
	"github.com/bezoar-dev/bezoar/internal/gateway/certs"
	"github.com/bezoar-dev/bezoar/internal/queue/schema"
	"github.com/bezoar-dev/bezoar/internal/queue/sigv4"
	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/internal/state/handover"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/queue"
)

// openQueues makes the queue engine over the store, the queues that the
// settings name, and their SQS endpoint.
func (a *App) openQueues(ctx context.Context, key fingerprint.Key) error {
	var err error
	if a.queues, err = queue.New(queue.Config{Key: key, Log: a.log}, a.stores.Queue); err != nil {
		return err
	}
	if a.wire, err = sqs.New(sqs.Config{Engine: a.queues, Log: a.log}); err != nil {
		return err
	}
	if err := a.ensureQueues(ctx, &a.cfg, false); err != nil {
		return err
	}
	if !a.cfg.ServesSQS() {
		return nil
	}
	cfg := sqs.Config{Engine: a.queues, Address: a.cfg.SQS, Hosts: a.cfg.SQSHosts, Vanished: a.queues.Vanished, Viewed: a.queues.Viewed, Check: a.lost, Log: a.log}
	if t := a.cfg.SQSTLS; t != nil {
		store, err := certs.New(certs.Config{Pairs: []certs.Pair{{Cert: t.Cert, Key: t.Key}}, Log: a.log})
		if err != nil {
			return fmt.Errorf("sqs_tls: %w", err)
		}
		cfg.TLS = store.TLS()
	}
	if len(a.cfg.AccessKeys) > 0 {
		keys, err := accessKeys(a.cfg.AccessKeys)
		if err != nil {
			return err
		}
		if cfg.Verifier, err = sigv4.New(sigv4.Config{Keys: keys, Signed: []string{"X-Bezoar-Outcome"}}); err != nil {
			return fmt.Errorf("access_keys: %w", err)
		}
		cfg.Rights = map[string]sqs.Right{}
		for id, k := range a.cfg.AccessKeys {
			if len(k.Queues)+len(k.Actions) > 0 {
				cfg.Rights[id] = sqs.Right{Queues: k.Queues, Actions: k.Actions}
			}
		}
	}
	if a.sqs, err = sqs.NewServer(cfg); err != nil {
		return err
	}
	if a.sqsLn, err = a.sockets.Listen(handover.SQS, a.cfg.SQS); err != nil {
		return fmt.Errorf("sqs: %w", err)
	}
	return nil
}

func (a *App) Queues() *queue.Engine { return a.queues }

// SQSAddr returns where the SQS endpoint listens, or "".
func (a *App) SQSAddr() string {
	if a.sqsLn == nil {
		return ""
	}
	return a.sqsLn.Addr().String()
}

// accessKeys reads the secrets of SQS clients.
func accessKeys(in map[string]config.AccessKey) (map[string]sigv4.Secret, error) {
	out := make(map[string]sigv4.Secret, len(in))
	for id, k := range in {
		secret := k.Secret
		switch {
		case k.SecretEnv != "":
			secret = os.Getenv(k.SecretEnv)
			if secret == "" {
				return nil, fmt.Errorf("access_keys.%s.secret_env: the environment has no %s", id, k.SecretEnv)
			}
		case k.SecretFile != "":
			text, err := regular.Read(k.SecretFile, config.MaxFileSize)
			if err != nil {
				return nil, fmt.Errorf("access_keys.%s.secret_file: %w", id, err)
			}
			secret, _, _ = strings.Cut(string(text), "\n")
			secret = strings.TrimSpace(secret)
			if secret == "" {
				return nil, fmt.Errorf("access_keys.%s.secret_file: the first line of %s is empty", id, k.SecretFile)
			}
		}
		out[id] = sigv4.Secret(secret)
	}
	return out, nil
}

// ensureQueues creates and changes the queues of the settings, dead-letter queues first. Other queues stay as they are.
// With quiet, an error quotes nothing from files that the settings name.
func (a *App) ensureQueues(ctx context.Context, cfg *config.Config, quiet bool) error {
	names := slices.Sorted(maps.Keys(cfg.Queues))
	wanted := map[string]queue.Settings{}
	dead := map[string]bool{}
	for _, name := range names {
		s, err := settingsOf(name, cfg.Queues[name])
		if err != nil {
			return err
		}
		if file := cfg.Queues[name].Schema; quiet && file != "" {
			if _, err := schema.Compile(s.Schema); err != nil {
				return fmt.Errorf("queues.%s.schema: %s is not a usable JSON Schema", name, file)
			}
		}
		wanted[name] = s
		if d := s.DeadLetter.Queue; d != "" {
			dead[d] = true
		}
	}
	for _, d := range slices.Sorted(maps.Keys(dead)) {
		if _, ok := wanted[d]; ok {
			continue
		}
		if _, err := a.queues.Queue(ctx, d); err == nil {
			continue
		}
		made := queue.ImplicitQueue(d, strings.HasSuffix(d, ".fifo"))
		if _, err := a.queues.CreateQueue(ctx, d, made.Settings, nil); err != nil {
			return err
		}
	}
	// Any of them may be a dead-letter queue, so first make all without theirs.
	for _, name := range names {
		s := wanted[name]
		s.DeadLetter = queue.DeadLetter{}
		if err := a.create(ctx, name, s); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := a.ensureQueue(ctx, name, wanted[name]); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) create(ctx context.Context, name string, s queue.Settings) error {
	_, err := a.queues.CreateQueue(ctx, name, s, nil)
	if errors.Is(err, queue.ErrQueueExists) {
		return nil
	}
	return err
}

func (a *App) ensureQueue(ctx context.Context, name string, s queue.Settings) error {
	if err := a.create(ctx, name, s); err != nil {
		return err
	}
	_, err := a.queues.SetSettings(ctx, name, func(have *queue.Settings) error {
		s.Extra, s.Allow = have.Extra, have.Allow
		*have = s
		return nil
	})
	return err
}

// settingsOf converts a configured queue to the engine's settings.
func settingsOf(name string, q config.Queue) (queue.Settings, error) {
	s := queue.DefaultSettings()
	s.FIFO = strings.HasSuffix(name, ".fifo")
	s.ContentDedup, s.DedupByGroup = q.ContentDedup, q.DedupByGroup
	s.Visibility, s.Delay, s.Wait, s.Retention, s.MaxBytes = q.Visibility, q.Delay, q.Wait, q.Retention, int(q.MaxBytes)
	if q.MaxReceiveCount > 0 {
		s.DeadLetter = queue.DeadLetter{Queue: q.DeadLetter, MaxReceives: q.MaxReceiveCount}
		if s.DeadLetter.Queue == "" {
			s.DeadLetter.Queue = queue.ImplicitName(name)
		}
	}
	s.Retry = queue.Retry{
		Strategy: backoff.Strategy(q.Retry.Strategy), Base: q.Retry.Base, Cap: q.Retry.Cap, Attempts: q.Retry.Attempts, Deadline: q.Retry.Deadline,
		Budget: budget.Config{Ratio: float64(q.Retry.Budget), Floor: float64(q.Retry.BudgetFloor)},
	}
	s.Quarantine = queue.Quarantine{
		Off: q.Quarantine.Off, After: q.Quarantine.After, For: q.Quarantine.For, Max: q.Quarantine.Max,
		MinBytes: int(q.Quarantine.MinBytes), Ignore: q.Quarantine.Ignore,
	}
	s.Downstream, s.SameAs = q.Downstream, q.SameAs
	s.KeepExpired = q.Expire == "dead-letter"
	s.SchemaCheck = queue.SchemaCheck(q.Validate)
	if q.Schema != "" {
		text, err := regular.Read(q.Schema, queue.MaxSchema)
		if err != nil {
			return s, fmt.Errorf("queues.%s.schema: %w", name, err)
		}
		s.Schema = string(text)
	}
	return s, nil
}
