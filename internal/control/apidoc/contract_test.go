package apidoc_test

import (
	"net/http"
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/health"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// operation is one call of the API.
type operation struct {
	method, path string
	tag, summary string
	query        []parameter
	body         any // nil: none
	status       int
	answer       any    // nil: none
	media        string // of the answer; "": JSON
	refusals     []int  // beside those that calls of its kind have
	open         bool   // it needs no token
}

type parameter struct {
	name, text string
	number     bool
	most       int  // of a number; 0: any
	many       bool // it may come more than once
}

func text(name, about string) parameter   { return parameter{name: name, text: about} }
func number(name, about string) parameter { return parameter{name: name, text: about, number: true} }

func repeated(name, about string) parameter {
	return parameter{name: name, text: about, many: true}
}

func limit(most int) parameter {
	p := number("limit", "How many at most.")
	p.most = most
	return p
}

// selection are the parameters that adminapi.SelectionQuery writes.
func selection(more ...parameter) []parameter {
	return append([]parameter{
		text("queue", "Only letters of this dead-letter queue."),
		text("origin", "Only letters that came from this queue."),
		text("class", "Only letters of this class, such as `crash`."),
		repeated("group", "Only letters of this failure group: its ID, or a unique prefix."),
		repeated("id", "Only the letter with this ID."),
		text("after", "Only letters that died at this time or later (RFC 3339)."),
		text("before", "Only letters that died before this time (RFC 3339)."),
		text("body", "Only letters whose body contains this text."),
		text("reason", "Only letters whose reason contains this text."),
		repeated("attribute", "Only letters with this attribute, as NAME=VALUE."),
	}, more...)
}

func get(path, tag, summary string, answer any, query ...parameter) operation {
	return operation{method: http.MethodGet, path: path, tag: tag, summary: summary, status: http.StatusOK, answer: answer, query: query}
}

func send(method, path, tag, summary string, body any, status int, answer any, refusals ...int) operation {
	return operation{method: method, path: path, tag: tag, summary: summary, body: body, status: status, answer: answer, refusals: refusals}
}

const (
	post, put, patch, remove = http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	ok, created              = http.StatusOK, http.StatusCreated
	accepted, nothing        = http.StatusAccepted, http.StatusNoContent
	conflict                 = http.StatusConflict
	unprocessable            = http.StatusUnprocessableEntity
	unavailable              = http.StatusServiceUnavailable
)

// operations are all calls of the API, in the order of the description.
func operations() []operation {
	return slices.Concat(quarantineCalls(), fleetCalls(), queueCalls(), deadCalls(), settingsCalls(), flowCalls(), stateCalls())
}

func quarantineCalls() []operation {
	const q, l = "quarantine", "letters of the gateway"
	return []operation{
		get(adminapi.PathQuarantine, q, "List verdicts.", adminapi.Verdicts{}, text("fleet", "Only verdicts of this fleet.")),
		send(post, adminapi.PathQuarantine, q, "Quarantine work by your own decision.", adminapi.Add{}, created, bezoar.Verdict{}),
		get(adminapi.PathVerdict, q, "Show one verdict.", bezoar.Verdict{}),
		send(remove, adminapi.PathVerdict, q, "Release work: lift its verdict.", nil, nothing, nil),
		get(adminapi.PathLetters, l, "List dead letters of the gateway, the newest first, without bodies.", adminapi.Letters{},
			text("fleet", "Only letters of this fleet."), limit(adminapi.MaxLetterLimit), number("offset", "How many to skip."),
			text("fingerprint", "Only letters of this work.")),
		get(adminapi.PathLetter, l, "Show one dead letter with its body.", bezoar.Letter{}),
		send(remove, adminapi.PathLetter, l, "Delete one dead letter.", nil, nothing, nil),
		send(post, adminapi.PathRedrive, l, "Send one dead letter through the isolation lane and wait for the outcome.", nil, ok, adminapi.Redriven{},
			unprocessable, unavailable),
	}
}

func fleetCalls() []operation {
	const f, g = "fleets", "query guards"
	return []operation{
		get(adminapi.PathFleets, f, "Show every fleet: its workers, lane, pool and counters.", adminapi.Fleets{}),
		send(post, adminapi.PathRestart, f, "Begin a rolling restart of a fleet.", nil, accepted, adminapi.Restarting{}, conflict, unavailable),
		get(adminapi.PathBreakers, f, "List circuit breakers.", adminapi.Breakers{}),
		send(put, adminapi.PathForce, f, "Hold a circuit breaker open or closed.", adminapi.ForceBreaker{}, ok, circuit.Status{}),
		send(remove, adminapi.PathForce, f, "End what holds a circuit breaker.", nil, ok, circuit.Status{}),
		get(adminapi.PathTop, f, "Show which callers cause most.", adminapi.Top{},
			text("by", "What to rank by: `cost`, `requests`, `refused`, `errors`, `bytes` or `units`."),
			text("window", "`1m` or `10m`."), limit(adminapi.MaxTop)),
		get(adminapi.PathGuards, g, "Show what the guards of routes have counted.", adminapi.Guards{}, limit(adminapi.MaxGuardRows)),
		get(adminapi.PathGuardLimits, g, "Show the limits of a route's guard.", adminapi.GuardLimits{}),
		send(put, adminapi.PathGuardLimits, g, "Change the limits of a route's guard.", adminapi.PutGuardLimits{}, ok, adminapi.Changed{}, conflict, unprocessable),
	}
}

func queueCalls() []operation {
	const q, m = "queues", "messages"
	force := send(remove, adminapi.PathMessage, m, "Delete a message.", nil, ok, adminapi.Amended{}, conflict)
	force.query = []parameter{text("force", "`true`: also a message in flight."), text("reason", "Why, for the audit log.")}
	return []operation{
		get(adminapi.PathQueues, q, "List queues by name.", adminapi.Queues{},
			text("prefix", "Only queues whose name begins so."), text("after", "Only names after this one: `next` of the page before."), limit(adminapi.MaxQueues)),
		send(post, adminapi.PathQueues, q, "Create a queue, or return the one that is there with the same settings.", adminapi.CreateQueue{}, created, adminapi.Queue{}, conflict),
		get(adminapi.PathQueue, q, "Show one queue.", adminapi.Queue{}),
		send(patch, adminapi.PathQueue, q, "Change settings of a queue.", adminapi.SetQueue{}, ok, adminapi.Queue{}, conflict),
		send(remove, adminapi.PathQueue, q, "Delete a queue with all its messages.", nil, nothing, nil, conflict),
		send(post, adminapi.PathPurge, q, "Delete all messages of a queue.", nil, nothing, nil, conflict),
		send(post, adminapi.PathPause, q, "Pause a queue.", queue.Pause{}, nothing, nil),
		send(post, adminapi.PathResume, q, "End the pause of a queue.", nil, nothing, nil),
		get(adminapi.PathConditions, q, "List paused queues and open breakers.", adminapi.Conditions{}),
		get(adminapi.PathPayloads, q, "List payloads that a queue suspects or refuses.", adminapi.Payloads{}),
		send(remove, adminapi.PathPardon, q, "Pardon a payload: clear its suspicion or quarantine.", nil, nothing, nil),
		get(adminapi.PathMessages, m, "Look at messages without receiving them.", adminapi.Messages{},
			number("after", "Only messages after this sequence number."), limit(adminapi.MaxPeek)),
		send(post, adminapi.PathMessages, m, "Send messages.", adminapi.SendBatch{}, ok, adminapi.SentBatch{}),
		send(post, adminapi.PathMessage, m, "Change a message that waits.", adminapi.EditMessage{}, ok, adminapi.Amended{}, conflict),
		force,
		send(post, adminapi.PathParts, m, "Set parts of work, such as bad rows, aside as dead letters.", adminapi.PartBatch{}, ok, adminapi.SentBatch{}),
	}
}

func deadCalls() []operation {
	const d = "dead letters"
	export := get(adminapi.PathDeadExport, d, "Export dead letters with their bodies, one JSON document a line.", triage.Letter{}, selection()...)
	export.media = "application/x-ndjson"
	return []operation{
		get(adminapi.PathDeadGroups, d, "Group dead letters by what failed.", adminapi.DeadGroups{}, selection(limit(triage.MaxGroups))...),
		get(adminapi.PathDead, d, "List dead letters, the newest first, without bodies.", adminapi.DeadLetters{},
			selection(limit(triage.MaxLetters), text("cursor", "Where to go on: `next` of the page before."))...),
		get(adminapi.PathDeadLetter, d, "Show one dead letter with its body.", triage.Letter{}),
		send(post, adminapi.PathDeadEdit, d, "Send a changed letter back to its queue.", triage.Edit{}, ok, triage.Edited{}, conflict),
		send(post, adminapi.PathDeadPlans, d, "Plan: say what an order would do, and keep it.", adminapi.Order{}, created, triage.Plan{}),
		get(adminapi.PathDeadPlan, d, "Show a plan.", triage.Plan{}),
		send(post, adminapi.PathDeadExecute, d, "Do what was planned.", nil, accepted, adminapi.Tasks{}, conflict),
		send(post, adminapi.PathDeadDo, d, "Plan and do at once.", adminapi.Order{}, accepted, adminapi.Tasks{}, conflict),
		send(post, adminapi.PathDeadPardon, d, "Pardon the payloads of letters.", queue.Selection{}, ok, adminapi.Pardoned{}),
		get(adminapi.PathDeadTasks, d, "List tasks, the newest first.", adminapi.Tasks{}, text("live", "`true`: only tasks that are not over."), limit(triage.MaxLetters)),
		get(adminapi.PathDeadTask, d, "Show one task.", triage.Task{}),
		send(post, adminapi.PathDeadTask, d, "Pause, resume, cancel or slow a task.", adminapi.TaskOrder{}, ok, triage.Task{}, conflict),
		export,
		get(adminapi.PathAlarms, d, "List alarms.", adminapi.Alarms{}),
	}
}

func settingsCalls() []operation {
	const s = "settings"
	return []operation{
		get(adminapi.PathSettings, s, "Say which settings run, here and on the other nodes.", live.Status{}),
		send(put, adminapi.PathSettings, s, "Make a text the newest version of the settings.", adminapi.PutSettings{}, ok, adminapi.Changed{}, conflict, unprocessable),
		send(post, adminapi.PathTry, s, "Say what a change of the settings would do.", adminapi.PutSettings{}, ok, adminapi.Tried{}, conflict, unprocessable),
		send(post, adminapi.PathRollback, s, "Make the text of an older version the newest.", adminapi.Rollback{}, ok, adminapi.Changed{}, conflict, unprocessable),
		get(adminapi.PathVersions, s, "List versions of the settings, the newest first, without texts.", adminapi.Versions{}, limit(live.MaxVersions)),
		get(adminapi.PathVersion, s, "Show one version with its text; `newest` for the newest.", live.Version{}),
		get(adminapi.PathDiff, s, "Compare two versions; without parameters: what the running version changed.", adminapi.Diff{},
			number("from", "The older version."), number("to", "The newer version.")),
		send(post, adminapi.PathDiff, s, "Say what a text would change.", adminapi.Compare{}, ok, adminapi.Diff{}, unprocessable),
		get(adminapi.PathOverrides, s, "List overrides in force.", adminapi.Overrides{}),
		send(post, adminapi.PathOverrides, s, "Tighten or loosen a limit for a while.", adminapi.SetOverride{}, created, live.Override{}, conflict, unprocessable),
		send(remove, adminapi.PathOverride, s, "End an override.", nil, nothing, nil),
	}
}

func flowCalls() []operation {
	const f = "flows"
	logs := get(flowapi.PathLogs, f, "Read the log of an attempt.", "", number("offset", "From which byte on."), text("follow", "`1`: until the attempt ends."))
	logs.media = "text/plain"
	return []operation{
		get(flowapi.PathFlows, f, "List flows that can be started here.", flowapi.List{}),
		get(flowapi.PathRuns, f, "List runs, the newest first.", flowapi.Runs{},
			text("flow", "Only runs of this flow."), text("state", "Only runs in this state."), text("backfill", "Only runs of this backfill."),
			text("before", "Only runs older than this one."), limit(flowapi.MaxPage)),
		send(post, flowapi.PathRuns, f, "Start a run.", flowapi.Start{}, created, flowapi.Run{}, conflict),
		get(flowapi.PathRun, f, "Show one run with its tasks.", flowapi.Run{}),
		get(flowapi.PathInstances, f, "List the instances of a run.", flowapi.Instances{},
			text("task", "Only instances of this task."), text("state", "Only instances in this state."), number("offset", "How many to skip."), limit(flowapi.MaxPage)),
		get(flowapi.PathAttempts, f, "List the attempts of a run.", flowapi.Attempts{},
			text("task", "Only attempts of this task."), number("index", "With `task`: only this instance."), number("after", "Only attempts after this token."), limit(flowapi.MaxPage)),
		logs,
		send(post, flowapi.PathOrders, f, "Retry, skip or cancel.", flowapi.Order{}, accepted, flowapi.Ordered{}, conflict),
	}
}

func stateCalls() []operation {
	const s, x = "state", "outboxes"
	plain := func(path, summary string) operation {
		return operation{method: http.MethodGet, path: path, tag: s, summary: summary, status: ok, answer: "", media: "text/plain", open: true}
	}
	events := get(adminapi.PathEvents, s, "Follow what happens: a stream of server-sent events, each of which is one JSON document.", adminapi.Event{})
	events.media, events.refusals = "text/event-stream", []int{unavailable}
	metrics := plain("/metrics", "Read metrics in the text format of Prometheus.")
	metrics.open = false
	ready := plain("/readyz", "Say whether this process can serve.")
	healthz := plain("/healthz", "Say how this process is, without details.")
	healthz.answer, healthz.media = health.Report{}, ""
	live := plain("/livez", "Say that this process answers.")
	for _, o := range []*operation{&ready, &healthz, &live} {
		o.refusals = []int{unavailable}
	}
	describe := get(adminapi.PathDescription, s, "Show this description.", map[string]any{})
	return []operation{
		get(adminapi.PathHealth, s, "Report how this process is, with all details.", health.Report{}),
		get(adminapi.PathOutboxes, x, "List the outboxes that this process delivers, and what waits in them.", adminapi.Outboxes{}),
		send(post, adminapi.PathOutboxDeeds, x, "Note in the audit log what was done in the database of an outbox.", adminapi.OutboxDeed{}, nothing, nil),
		get(adminapi.PathAudit, s, "Read the audit log, the newest entry first.", adminapi.Audit{},
			number("before", "Only entries with a lower number."), limit(triage.MaxLetters)),
		events, metrics, live, ready, healthz, describe,
	}
}
