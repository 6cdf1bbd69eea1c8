package cli

import (
	"context"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/queue"
)

// namesCmd answers completion scripts. It prints no errors, because somebody is typing.
type namesCmd struct {
	remote
	Kind string `arg:"" enum:"queues,fleets,groups,verdicts,flows,runs" help:"What to list: ${enum}."`
}

// namesPatience is how long completion waits for names.
const namesPatience = time.Second

// maxNames bounds the completions.
const maxNames = 500

func (c *namesCmd) Run(s *session) error {
	for _, name := range c.names(s) {
		s.out.printf("%s\n", name)
	}
	return nil
}

func (c *namesCmd) list(ctx context.Context, api *adminapi.Client) (names []string, err error) {
	switch c.Kind {
	case "queues":
		all, err := api.Queues(ctx, "")
		return namesOf(all, func(q adminapi.Queue) string { return q.Name }), err
	case "fleets":
		all, err := api.Fleets(ctx)
		return namesOf(all, func(f adminapi.Fleet) string { return f.Name }), err
	case "groups":
		all, err := api.DeadGroups(ctx, queue.Selection{}, maxNames)
		return namesOf(all, func(g queue.Group) string { return g.Key }), err
	case "verdicts":
		all, err := api.Verdicts(ctx, "")
		return namesOf(all, func(v bezoar.Verdict) string { return v.ID }), err
	case "flows":
		all, err := flowapi.NewClient(api).Flows(ctx)
		return namesOf(all, func(f flowapi.Flow) string { return f.Name }), err
	}
	all, err := flowapi.NewClient(api).Runs(ctx, flowapi.RunQuery{})
	return namesOf(all, func(r flowapi.Run) string { return r.ID }), err
}

func namesOf[T any](all []T, name func(T) string) []string {
	var out []string
	for _, v := range all {
		out = append(out, name(v))
	}
	return out
}

// plainWord reports whether every shell reads a word unchanged. Other words are not offered: an attacker may have chosen
// the name, and shells expand completions.
func plainWord(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789._:@/-") == "" && !strings.HasPrefix(s, "-")
}

// kindOf returns the kind of names for a value or an argument; "" for none. path is the command's, such as "bezoar queue
// show".
func kindOf(path, name string) string {
	noun, verb, _ := strings.Cut(strings.TrimPrefix(path, "bezoar "), " ")
	switch noun + " " + name {
	case "queue name":
		if verb == "create" {
			return ""
		}
		return "queues"
	case "queue prefix", "queue --dead-letter", "dlq --queue", "dlq --origin", "dlq --to":
		return "queues"
	case "fleet name", "quarantine --fleet":
		return "fleets"
	case "dlq --group":
		return "groups"
	case "queue --group":
		if verb == "pardon" { // elsewhere it is a group of messages
			return "groups"
		}
	case "quarantine id":
		return "verdicts"
	case "flow --flow":
		return "flows"
	case "flow run":
		return "runs"
	}
	return ""
}
