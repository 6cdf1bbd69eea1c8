package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// DefaultSQS is the address of queues when bezoar serve runs without a file.
const DefaultSQS = "127.0.0.1:9324"

// Queue is a queue that Bezoar creates at its start. A name that ends in .fifo makes it a
// FIFO queue.
type Queue struct {
	MaxReceiveCount int             `yaml:"max_receive_count" range:"0..1000"` // Receives after which a message becomes a dead letter. 0: never. Default: 5, and 0 for dead-letter queues.
	DeadLetter      string          `yaml:"dead_letter"`                       // Name of the dead-letter queue. Default: NAME-dlq.
	Visibility      time.Duration   `yaml:"visibility" range:"0s..12h"`        // Time for which a received message is hidden from others.
	Delay           time.Duration   `yaml:"delay" range:"0s..15m"`             // Time before a new message can be received.
	Wait            time.Duration   `yaml:"wait" range:"0s..20s"`              // Longest time that a receive waits for a message.
	Retention       time.Duration   `yaml:"retention" range:"1m..14d"`         // Age at which a message expires.
	MaxBytes        Size            `yaml:"max_bytes" range:"1KiB..1MiB"`      // Longest message.
	ContentDedup    bool            `yaml:"content_dedup"`                     // FIFO queues: the body is the deduplication id.
	DedupByGroup    bool            `yaml:"dedup_by_group"`                    // FIFO queues: deduplication ids count within a message group.
	Schema          string          `yaml:"schema"`                            // File with a JSON Schema that bodies must match.
	Validate        string          `yaml:"validate"`                          // What happens to a body that does not match: reject or dead-letter.
	Expire          string          `yaml:"expire"`                            // What happens to an expired message: delete or dead-letter.
	Retry           QueueRetry      `yaml:"retry"`                             // How failed messages are tried again.
	Downstream      string          `yaml:"downstream"`                        // Name of the service that the messages depend on. Queues with the same one share a circuit breaker and a retry budget.
	Quarantine      QueueQuarantine `yaml:"quarantine"`                        // When a payload is refused, and for how long.
	SameAs          string          `yaml:"same_as"`                           // Fleet whose convicted requests are suspects here, for routes with enqueue.
	Push            *Push           `yaml:"push"`                              // Delivers messages by HTTP.
}

// QueueRetry says how a failed delivery is tried again.
type QueueRetry struct {
	Strategy    string        `yaml:"strategy"`                     // How waits grow: full-jitter, equal-jitter, decorrelated-jitter, exponential, fixed or immediate.
	Base        time.Duration `yaml:"base" range:"1ms..12h"`        // What the waits grow from.
	Cap         time.Duration `yaml:"cap" range:"1ms..12h"`         // Longest wait.
	Attempts    int           `yaml:"attempts" range:"0..1000"`     // Most attempts. 0: as max_receive_count says.
	Deadline    time.Duration `yaml:"deadline" range:"0s..14d"`     // Age at which a message is no longer tried. 0s: none.
	Budget      Ratio         `yaml:"budget" range:"0%..100%"`      // Share of extra load that retries may add.
	BudgetFloor int           `yaml:"budget_floor" range:"0..1000"` // Retries per second that are always allowed.
}

// QueueQuarantine says when a payload is refused, in whatever message it is.
type QueueQuarantine struct {
	After    int           `yaml:"after" range:"1..8"`         // Crashes of one payload that lead to quarantine.
	For      time.Duration `yaml:"for" range:"1s..720h"`       // First quarantine. It doubles each time.
	Max      time.Duration `yaml:"max" range:"1s..720h"`       // Longest quarantine.
	MinBytes Size          `yaml:"min_bytes" range:"1B..1MiB"` // A body that is shorter is known by its message id only, so that a verdict holds for that message alone.
	Ignore   []string      `yaml:"ignore"`                     // JSON paths that do not belong to a payload's identity, such as $.sent_at.
	Off      bool          `yaml:"-"`
}

// Push delivers a queue's messages to an HTTP server.
type Push struct {
	URL         string        `yaml:"url"`                         // URL that messages are posted to.
	Concurrency int           `yaml:"concurrency" range:"1..1000"` // Most deliveries at the same time. Fewer while they fail.
	Timeout     time.Duration `yaml:"timeout" range:"100ms..12h"`  // Time that one delivery may take.
}

// AccessKey holds the secret of an access key ID, or the place of the secret.
type AccessKey struct {
	SecretEnv  string `yaml:"secret_env"`  // Environment variable that holds the secret key.
	SecretFile string `yaml:"secret_file"` // File whose first line is the secret key.
	Secret     string `yaml:"-"`
	// Queues and Actions limit the use of the key; nil: no limit.
	Queues  Only `yaml:"queues"`  // Names of the queues that the key may use. A * at the end matches any rest. Absent: all.
	Actions Only `yaml:"actions"` // Actions that the key may use, such as SendMessage or Receive*. Absent: all.
}

// Alarm reports dead letters. Exactly one of the conditions is set.
type Alarm struct {
	Queue       string        `yaml:"queue"`                              // Dead-letter queue to watch. * stands for all.
	DepthAbove  int           `yaml:"depth_above" range:"-1..1000000000"` // Alarms above this number of letters. -1: not used.
	OldestAbove time.Duration `yaml:"oldest_above" range:"0s..14d"`       // Alarms when the oldest letter is older. 0s: not used.
	RateAbove   int           `yaml:"rate_above" range:"0..1000000"`      // Alarms above this number of new letters per minute. 0: not used.
	Redrive     bool          `yaml:"redrive"`                            // Alarms when a redrive has ended or halted.
	Webhook     string        `yaml:"webhook"`                            // URL that the alarm is posted to.
	SecretEnv   string        `yaml:"secret_env"`                         // Environment variable with the key that signs the webhook's body.
	Command     []string      `yaml:"command"`                            // Program and arguments that get the alarm on stdin.
	Repeat      time.Duration `yaml:"repeat" range:"1m..168h"`            // Time between two messages while the alarm lasts.
}

func (q *Queue) setDefaults() {
	*q = Queue{
		MaxReceiveCount: unsetCount,
		Visibility:      30 * time.Second,
		Retention:       4 * day,
		MaxBytes:        1 << 20,
		Validate:        "reject",
		Expire:          "delete",
		Retry:           QueueRetry{Strategy: "full-jitter", Base: time.Second, Cap: 5 * time.Minute, Budget: 0.2, BudgetFloor: 3},
		Quarantine:      QueueQuarantine{After: 2, For: 15 * time.Minute, Max: 24 * time.Hour, MinBytes: 1},
	}
}

func (p *Push) setDefaults() { *p = Push{Concurrency: 10, Timeout: 30 * time.Second} }

func (a *Alarm) setDefaults() { *a = Alarm{Queue: "*", DepthAbove: -1, Repeat: time.Hour} }

const (
	unsetCount          = -1
	defaultReceiveCount = 5
)

// ServesSQS reports whether the SQS endpoint is enabled.
func (c *Config) ServesSQS() bool { return c.SQS != "" && c.SQS != "off" }

// SecretVariables returns the environment variables with secrets, which child processes
// must not inherit.
func (c *Config) SecretVariables() []string {
	all := []string{c.AdminTokenEnv}
	for _, k := range c.AccessKeys {
		all = append(all, k.SecretEnv)
	}
	for _, a := range c.Alarms {
		all = append(all, a.SecretEnv)
	}
	for i := range c.Routes {
		if g := c.Routes[i].Guard; g != nil && g.Poll != nil {
			all = append(all, g.Poll.AuthEnv)
		}
	}
	all = append(all, c.outboxSecrets()...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}

// fillQueues determines the dead-letter queue of each queue.
func (c *Config) fillQueues() {
	dead := map[string]bool{}
	for _, q := range c.Queues {
		dead[q.DeadLetter] = true
	}
	for name, q := range c.Queues {
		if q.MaxReceiveCount == unsetCount {
			q.MaxReceiveCount = defaultReceiveCount
			if dead[name] && q.DeadLetter == "" {
				q.MaxReceiveCount = 0
			}
		}
		c.Queues[name] = q
	}
	if c.SQS == "" && len(c.Queues) > 0 {
		c.SQS = DefaultSQS
	}
}

var (
	queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
	keyName   = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,128}$`)
)

func isQueueName(s string) bool {
	return len(s) <= 80 && queueName.MatchString(strings.TrimSuffix(s, ".fifo"))
}

func isFIFO(name string) bool { return strings.HasSuffix(name, ".fifo") }

func (c *Config) checkQueues(k *checker) {
	if c.ServesSQS() {
		k.add("sqs", addressFlaw(c.SQS))
		for _, of := range []struct{ key, addr string }{{"listen", c.Listen}, {"admin", c.Admin}} {
			k.add("sqs", flawIf(c.SQS == of.addr && !strings.HasSuffix(c.SQS, ":0"), "give it a port of its own", "%s is also used by %s", quoted(c.SQS), of.key), of.key)
		}
		k.add("sqs", flawIf(addressFlaw(c.SQS) == nil && !isLoopback(c.SQS) && len(c.AccessKeys) == 0, "add access_keys, or keep it on 127.0.0.1", "%s is open to the network without access keys", quoted(c.SQS)), "access_keys")
	}
	if t := c.SQSTLS; t != nil && (t.Cert == "" || t.Key == "") {
		k.addf("sqs_tls", "set both cert and key", "needs both cert and key")
	}
	for _, id := range sortedKeys(c.AccessKeys) {
		a := c.AccessKeys[id]
		n := 0
		for _, s := range []string{a.Secret, a.SecretEnv, a.SecretFile} {
			if s != "" {
				n++
			}
		}
		k.when(n != 1, "access_keys."+shortKey(id), "write secret_env: VARIABLE or secret_file: PATH", "needs one secret, has %d", n)
		k.when(a.SecretEnv != "" && !envName.MatchString(a.SecretEnv), "access_keys."+shortKey(id)+".secret_env", "write the variable's name, not the secret", "is not the name of an environment variable")
		for i, name := range a.Queues {
			if open := strings.TrimSuffix(name, "*"); open != "" && !isQueueName(strings.TrimSuffix(open, ".")) {
				k.addf(fmt.Sprintf("access_keys.%s.queues[%d]", shortKey(id), i), "write a queue's name, which may end in *", "%s is not a valid queue name", quoted(name))
			}
		}
		for i, action := range a.Actions {
			k.add(fmt.Sprintf("access_keys.%s.actions[%d]", shortKey(id), i), actionFlaw(action))
		}
	}
	for _, name := range sortedKeys(c.Queues) {
		q := c.Queues[name]
		q.check(k, "queues."+shortKey(name), name, c)
	}
	for _, name := range sortedKeys(c.Alarms) {
		a := c.Alarms[name]
		a.check(k, "alarms."+name)
	}
}

func (q *Queue) check(k *checker, at, name string, c *Config) {
	if d := q.DeadLetter; d != "" {
		switch {
		case !isQueueName(d):
			k.addf(at+".dead_letter", "use letters, digits, - and _, and .fifo at the end for a FIFO queue", "%s is not a valid queue name", quoted(d))
		case d == name:
			k.addf(at+".dead_letter", "name another queue", "is the queue itself")
		case isFIFO(d) != isFIFO(name):
			k.addf(at+".dead_letter", "let both names end in .fifo, or neither", "%s is of the other kind", quoted(d))
		}
	}
	k.when(!isFIFO(name) && (q.ContentDedup || q.DedupByGroup), at, "remove content_dedup and dedup_by_group, or use a name that ends in .fifo", "only FIFO queues deduplicate")
	for _, of := range []struct {
		key, value string
		choices    []string
	}{
		{"validate", q.Validate, []string{"reject", "dead-letter"}},
		{"expire", q.Expire, []string{"delete", "dead-letter"}},
		{"retry.strategy", q.Retry.Strategy, []string{"immediate", "fixed", "exponential", "full-jitter", "equal-jitter", "decorrelated-jitter"}},
	} {
		k.add(at+"."+of.key, choiceFlaw(of.value, of.choices))
	}
	k.add(at+".retry.base", flawIf(q.Retry.Base > q.Retry.Cap, "lower it, or raise cap", "%s is more than cap, %s", formatDuration(q.Retry.Base), formatDuration(q.Retry.Cap)), at+".retry.cap")
	q.checkDeadline(k, at)
	if t := q.Quarantine; !t.Off && t.For > t.Max {
		k.add(at+".quarantine.for", flawf("lower it, or raise max", "%s is more than max, %s", formatDuration(t.For), formatDuration(t.Max)), at+".quarantine.max")
	}
	for i, p := range q.Quarantine.Ignore {
		k.when(!jsonPath.MatchString(p), fmt.Sprintf("%s.quarantine.ignore[%d]", at, i), `write $ and then .name, ["name"] or [*], such as $.meta.ts`, "%s is not a path into JSON", quoted(p))
	}
	if q.SameAs != "" {
		if _, ok := c.Fleets[q.SameAs]; !ok {
			k.add(at+".same_as", flawf("define it under fleets"+didYouMean(q.SameAs, sortedKeys(c.Fleets)), "there is no fleet %s", quoted(q.SameAs)), "fleets")
		}
	}
	if p := q.Push; p != nil {
		k.add(at+".push.url", urlFlaw(p.URL))
	}
}

// checkDeadline checks that the deadline leaves room for every attempt, assuming the full
// visibility and the longest waits.
func (q *Queue) checkDeadline(k *checker, at string) {
	n := q.Retry.Attempts
	n = cmp.Or(n, q.MaxReceiveCount)
	if q.Retry.Deadline == 0 || n <= 0 {
		return
	}
	b := backoff.Config{Strategy: backoff.Strategy(q.Retry.Strategy), Base: q.Retry.Base, Cap: q.Retry.Cap}
	if b.Validate() != nil {
		return // reported already
	}
	work := time.Duration(n) * q.Visibility
	if all := q.Delay + work + b.RetryBound(n); all > q.Retry.Deadline {
		k.add(at+".retry.deadline", flawf("lower attempts, cap or visibility, or raise the deadline to "+formatDuration(all),
			"%s is less than the worst case, %s: delay %s + %d attempts of %s + waits of %s",
			formatDuration(q.Retry.Deadline), formatDuration(all), formatDuration(q.Delay), n, formatDuration(q.Visibility), b.Explain(n)),
			at+".retry", at+".visibility")
	}
}

func (a *Alarm) check(k *checker, at string) {
	n := 0
	for _, is := range []bool{a.DepthAbove >= 0, a.OldestAbove > 0, a.RateAbove > 0, a.Redrive} {
		if is {
			n++
		}
	}
	k.when(n != 1, at, "set exactly one of depth_above, oldest_above, rate_above and redrive: true; use a separate alarm for each condition", "has %d conditions", n)
	k.when(a.Queue != "*" && !isQueueName(a.Queue), at+".queue", "write a dead-letter queue's name, or *", "%s is not a valid queue name", quoted(a.Queue))
	switch {
	case a.Webhook == "" && len(a.Command) == 0:
		k.addf(at, "add webhook: https://… or command: [program, argument]", "has no receiver")
	case a.Webhook != "":
		k.add(at+".webhook", urlFlaw(a.Webhook))
	}
	k.when(len(a.Command) > 0 && strings.TrimSpace(a.Command[0]) == "", at+".command[0]", "name the program to start", "is empty")
	k.when(a.SecretEnv != "" && !envName.MatchString(a.SecretEnv), at+".secret_env", "write the variable's name, not the secret", "is not the name of an environment variable")
}

// Actions returns the actions of SQS.
func Actions() []string {
	return strings.Fields(`AddPermission CancelMessageMoveTask ChangeMessageVisibility ChangeMessageVisibilityBatch CreateQueue DeleteMessage
		DeleteMessageBatch DeleteQueue GetQueueAttributes GetQueueUrl ListDeadLetterSourceQueues ListMessageMoveTasks ListQueueTags ListQueues PurgeQueue
		ReceiveMessage RemovePermission SendMessage SendMessageBatch SetQueueAttributes StartMessageMoveTask TagQueue UntagQueue`)
}

// actionFlaw checks an action, or a prefix followed by *.
func actionFlaw(action string) *flaw {
	begin, open := strings.CutSuffix(action, "*")
	if slices.ContainsFunc(Actions(), func(known string) bool { return known == action || open && strings.HasPrefix(known, begin) }) {
		return nil
	}
	return flawf("write "+strings.Join(Actions(), ", ")+", or a prefix followed by *"+didYouMean(action, Actions()), "%s is not an action", quoted(action))
}

func choiceFlaw(value string, choices []string) *flaw {
	if slices.Contains(choices, value) {
		return nil
	}
	return flawf("write "+strings.Join(choices, ", ")+didYouMean(value, choices), "%s is not allowed here", quoted(value))
}

func (q *QueueQuarantine) fromWord(text string) error {
	var r Quarantine
	if err := r.fromWord(text); err != nil {
		return err
	}
	q.Off = true
	return nil
}

func (q QueueQuarantine) toWord() (string, bool) { return "off", q.Off }

func (a *AccessKey) fromWord(text string) error {
	a.Secret = text
	return nil
}

func (a AccessKey) toWord() (string, bool) { return a.Secret, a.Secret != "" }
