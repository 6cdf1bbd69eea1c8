package sqs

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/queue"
)

// redrivePolicy is the JSON in the attribute RedrivePolicy. Clients write the count as a number or as a text.
type redrivePolicy struct {
	Target string   `json:"deadLetterTargetArn"`
	Max    looseInt `json:"maxReceiveCount"`
}

// looseInt is an integer, possibly in quotes; -1 means missing.
type looseInt int

func (n *looseInt) UnmarshalJSON(text []byte) error {
	v, err := strconv.Atoi(strings.Trim(string(text), `"`))
	*n = looseInt(v)
	return err
}

// parseARN returns the queue's name in an ARN. Region and account are ignored.
func parseARN(arn string) (name string, ok bool) {
	parts := strings.Split(arn, ":")
	if len(parts) != 6 || parts[0] != "arn" || !strings.HasPrefix(parts[1], "aws") || parts[2] != "sqs" || !validName(parts[5]) {
		return "", false
	}
	return parts[5], true
}

// validName reports whether a queue may have this name. The engine is stricter about .fifo; its own names begin with a dot.
func validName(name string) bool {
	return len(name) <= 80 && validID(strings.TrimSuffix(name, ".fifo"))
}

func showRedrive(v *view) string {
	d := v.Settings.DeadLetter
	if d.Queue == "" {
		return ""
	}
	return `{"deadLetterTargetArn":"` + v.arn(d.Queue) + `","maxReceiveCount":` + strconv.Itoa(d.MaxReceives) + `}`
}

func setRedrive(s *settingsChange, value string) error {
	if strings.TrimSpace(value) == "" || value == "{}" {
		s.DeadLetter = queue.DeadLetter{}
		return nil
	}
	bad := func(why string) error { return invalid(value, "RedrivePolicy", "%s", why) }
	p := redrivePolicy{Max: -1}
	if err := json.Unmarshal([]byte(value), &p); err != nil {
		return bad("Redrive policy is not a valid JSON map, or maxReceiveCount is not an integer.")
	}
	switch {
	case p.Max == -1:
		return bad("Redrive policy does not contain mandatory attribute: maxReceiveCount.")
	case p.Target == "":
		return bad("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	case p.Max < 1 || p.Max > queue.MaxReceiveCap:
		return bad("Invalid value for maxReceiveCount: " + strconv.Itoa(int(p.Max)) + ", valid values are from 1 to 1000 both inclusive.")
	}
	target, ok := parseARN(p.Target)
	if !ok {
		return bad("Invalid value for deadLetterTargetArn.")
	}
	next := queue.DeadLetter{Queue: target, MaxReceives: int(p.Max)}
	if next.Queue == s.DeadLetter.Queue {
		s.DeadLetter = next // the target need not exist any more
		return nil
	}
	d, err := s.call.h.engine.Queue(s.ctx, target)
	switch {
	case errors.Is(err, queue.ErrQueueNotFound):
		return bad("Dead letter target does not exist.")
	case err != nil:
		return err
	case target == s.name:
		return bad("Dead letter target must not be the queue itself.")
	case d.Settings.FIFO != s.FIFO:
		return bad("Dead-letter queue must be same type of queue as the source.")
	}
	s.DeadLetter = next
	return nil
}

// allowPolicy is the JSON in the attribute RedriveAllowPolicy.
type allowPolicy struct {
	Permission string   `json:"redrivePermission"`
	Sources    []string `json:"sourceQueueArns,omitempty"`
}

func showAllow(v *view) string {
	a := v.Settings.Allow
	p := allowPolicy{}
	switch a.Mode {
	case queue.AllowNone:
		p.Permission = "denyAll"
	case queue.AllowNamed:
		p.Permission = "byQueue"
		for _, name := range a.Queues {
			p.Sources = append(p.Sources, v.arn(name))
		}
	case queue.AllowAll:
		p.Permission = "allowAll"
	default:
		return "" // never set
	}
	text, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	return string(text)
}

func setAllow(s *settingsChange, value string) error {
	if strings.TrimSpace(value) == "" {
		s.Allow = queue.Allow{}
		return nil
	}
	bad := func(why string) error { return invalid(value, "RedriveAllowPolicy", "%s", why) }
	var p allowPolicy
	if err := json.Unmarshal([]byte(value), &p); err != nil {
		return bad("Redrive allow policy is not a valid JSON map.")
	}
	var a queue.Allow
	switch p.Permission {
	case "allowAll":
		a.Mode = queue.AllowAll
	case "denyAll":
		a.Mode = queue.AllowNone
	case "byQueue":
		a.Mode = queue.AllowNamed
	default:
		return bad("Amazon SQS can't create the redrive allow policy, as it has an invalid redrivePermission.")
	}
	for _, arn := range p.Sources {
		name, ok := parseARN(arn)
		if !ok {
			return bad("Invalid value for sourceQueueArns.")
		}
		a.Queues = append(a.Queues, name)
	}
	if n := len(a.Queues); (a.Mode == queue.AllowNamed) != (n > 0) || n > 10 {
		return bad("sourceQueueArns must name 1 to 10 queues with byQueue, and none without.")
	}
	s.Allow = a
	return nil
}
