package cli

import (
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowletters"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxletters"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// unknown returns the error of a filter that names something that does not exist, with the nearest names. It returns nil if
// the name is known or empty, or if there are no names to compare with. Commands call it when a list is empty, because a
// removed fleet or queue may still have items under its name.
func unknown(kind, given string, names []string) error {
	if given == "" || len(names) == 0 || slices.Contains(names, given) {
		return nil
	}
	err := exitf(exitNotFound, "there is no %s %.100q", kind, given)
	if near := config.Nearest(given, names); near != "" {
		return hinted(err, "did you mean %s?", near)
	}
	const most = 8
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	return hinted(err, "known names: %s", clean(strings.Join(names, ", "))+more)
}

// unknownFleet is [unknown] for a fleet of the running Bezoar.
func (s *session) unknownFleet(api *adminapi.Client, given string) error {
	if given == "" {
		return nil
	}
	fleets, err := api.Fleets(s)
	if err != nil {
		return err
	}
	return unknown("fleet", given, namesOf(fleets, func(f adminapi.Fleet) string { return f.Name }))
}

// unknownFlow is [unknown] for a flow: one that can be started, or one that has run.
func (s *session) unknownFlow(flows flowapi.Flows, given string) error {
	if given == "" {
		return nil
	}
	runs, err := flows.Runs(s, flowapi.RunQuery{Limit: flowapi.MaxPage})
	if err != nil {
		return err
	}
	startable, err := flows.Flows(s)
	if err != nil {
		return err
	}
	names := namesOf(startable, func(f flowapi.Flow) string { return f.Name })
	for i := range runs {
		if !slices.Contains(names, runs[i].Flow) {
			names = append(names, runs[i].Flow)
		}
	}
	return unknown("flow", given, names)
}

// unknown is [unknown] for the queues of a selection of dead letters.
func (p picked) unknown(s *session, api *adminapi.Client) error {
	if p.Queue == "" && p.Origin == "" {
		return nil
	}
	names, err := letterQueues(s, api, p.Queue)
	if err != nil {
		return err
	}
	if err := unknown("queue", p.Queue, names); err != nil {
		return err
	}
	return unknown("queue", p.Origin, names)
}

// letterQueues returns the names that letters can be listed by. A front that this Bezoar does not have, such as flows, has
// no names; its error is ignored.
func letterQueues(s *session, api *adminapi.Client, given string) ([]string, error) {
	queues, err := api.Queues(s, "")
	if err != nil && unreachable(err) {
		return nil, err
	}
	names := namesOf(queues, func(q adminapi.Queue) string { return q.Name })
	if fleets, err := api.Fleets(s); err == nil {
		names = append(names, namesOf(fleets, func(f adminapi.Fleet) string { return triage.GatewayPrefix + f.Name })...)
	}
	if strings.HasPrefix(given, flowletters.Prefix) {
		if flows, err := flowapi.NewClient(api).Flows(s); err == nil {
			names = append(names, namesOf(flows, func(f flowapi.Flow) string { return flowletters.Prefix + f.Name })...)
		}
	}
	if strings.HasPrefix(given, outboxletters.Prefix) {
		if all, err := api.Outboxes(s); err == nil {
			names = append(names, namesOf(all, func(o adminapi.Outbox) string { return outboxletters.Prefix + o.Name })...)
		}
	}
	if len(names) > 0 {
		names = append(names, queue.TrashQueue)
	}
	return names, nil
}
