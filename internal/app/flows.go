package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowfile"
	"github.com/bezoar-dev/bezoar/internal/flow/flowletters"
	"github.com/bezoar-dev/bezoar/internal/flow/flownode"
	"github.com/bezoar-dev/bezoar/internal/flow/flowpage"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
)

// flowParts are the parts of an App for flows; nil without flows.
type flowParts struct {
	flows       *flownode.Node
	flowAPI     *flowapi.Server
	flowDefs    atomic.Pointer[[]flow.Definition] // flows that can be started
	flowFiles   flowfile.Files                    // the files that they were read from, guarded by reloading
	flowLetters []triage.Source                   // including removed flows, whose runs may still wait
}

// openFlows makes the node of flows, if the settings want one. It reads the definitions; reloadFlows reads them again. Runs
// keep the definition that they began with.
func (a *App) openFlows(ctx context.Context) error {
	c := a.cfg.Flows
	if c == nil {
		return nil
	}
	if c.Dir != "" {
		var err error
		if a.flowFiles, err = flowfile.Reread(c.Dir, nil); err != nil {
			return fmt.Errorf("flows.dir: %w", err)
		}
	}
	all := a.flowFiles.Definitions()
	a.flowDefs.Store(&all)
	pager, err := flowpage.New(flowpage.Config{
		Teller: tell.New(tell.Config{Environ: os.Environ(), Secrets: append(tell.SecretVars(), a.opt.Secrets...), Mail: tell.ServerFrom(os.Getenv)}),
		Secret: tell.SecretFrom(os.Getenv), Log: a.log,
	})
	if err != nil {
		return err
	}
	a.flows, err = flownode.Open(ctx, flownode.Config{
		Config: flow.Config{
			Store: a.stores.Flow, Node: a.node, Labels: c.Labels, Slots: c.Slots, Pools: poolsOf(c), Flows: all, Lease: c.Lease,
			Pager: pager, Judge: a.queues.Judge(), Log: a.log,
		},
		Dir: filepath.Join(a.cfg.StateDir, "flow"), Query: store.Probe, Inherit: proc.Inherit{Secrets: a.opt.Secrets}, Watch: a.watch(),
	})
	if err != nil {
		return fmt.Errorf("flows: %w", err)
	}
	api, err := flowapi.New(flowapi.Config{
		Store: a.stores.Flow, Rows: a.stores.Flow, Logs: a.flows.Logs(), Node: a.node,
		Flows:   func() []flow.Definition { return *a.flowDefs.Load() },
		Start:   a.startFlow,
		Ordered: func(flow.Order) { a.flows.Engine().Wake() },
	})
	if err != nil {
		return err
	}
	a.flowAPI = flowapi.NewServer(auditedFlows{api, a}, a.log)
	if err := a.showFlowLetters(all); err != nil {
		return err
	}
	a.log.Info("plans flows and runs their tasks", "flows", len(all), "node", a.node, "labels", c.Labels, "slots", c.Slots)
	return nil
}

// watch returns what kills tasks when this node does not renew its lease. A store that only one process can use needs
// nothing: no other node can take its runs.
func (a *App) watch() func(*slog.Logger, guardian.Jobs) (*guardian.Watch, error) {
	if strings.HasPrefix(a.cfg.Store, "postgres") {
		return a.opt.Watch
	}
	return nil
}

func poolsOf(c *config.Flows) map[string]int {
	pools := make(map[string]int, len(c.Pools))
	for name, slots := range c.Pools {
		pools[name] = int(slots)
	}
	return pools
}

// showFlowLetters adds the dead letters of flows to triage.
func (a *App) showFlowLetters(all []flow.Definition) error {
	for i := range all {
		name := flowletters.Prefix + all[i].Name
		if !slices.ContainsFunc(a.flowLetters, func(s triage.Source) bool { return s.Name() == name }) {
			a.flowLetters = append(a.flowLetters, flowletters.New(all[i].Name, a.stores.Flow, a.flows.Engine().Wake))
		}
	}
	if err := a.triage.SetSources(a.sources(a.now.Load())); err != nil {
		return fmt.Errorf("show the dead letters of flows: %w", err)
	}
	return nil
}

// reloadFlows reads the folder of definitions again. A file with a fault changes nothing, and is logged.
func (a *App) reloadFlows() {
	if a.cfg.Flows == nil || a.cfg.Flows.Dir == "" {
		return
	}
	a.reloading.Lock()
	defer a.reloading.Unlock()
	files, fault := flowfile.Reread(a.cfg.Flows.Dir, a.flowFiles)
	if fault != nil {
		a.log.Error("files of flows have faults; flows that were read before stay in force", "err", fault)
	}
	all := files.Definitions()
	err := a.flows.Engine().SetFlows(all)
	if err == nil {
		was := *a.flowDefs.Load()
		a.flowFiles = files
		a.flowDefs.Store(&all)
		err = a.showFlowLetters(all)
		a.log.Info("read the flows again", "flows", len(all), "changed", changedFlows(was, all))
	}
	if err != nil {
		a.log.Error("the flows were not changed", "err", err)
	}
}

// changedFlows names the flows that are new, gone or different.
func changedFlows(was, is []flow.Definition) []string {
	names := map[string]bool{}
	for _, pair := range [2][2][]flow.Definition{{was, is}, {is, was}} {
		for _, d := range pair[0] {
			i := slices.IndexFunc(pair[1], func(o flow.Definition) bool { return o.Name == d.Name })
			if i < 0 || !reflect.DeepEqual(pair[1][i], d) {
				names[d.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (a *App) startFlow(ctx context.Context, s flowapi.Start) (string, error) {
	all := *a.flowDefs.Load()
	i := slices.IndexFunc(all, func(d flow.Definition) bool { return d.Name == s.Flow })
	if i < 0 {
		return "", fmt.Errorf("flow %.100q: %w", s.Flow, flow.ErrNotFound)
	}
	r, err := a.flows.Engine().Start(ctx, flow.StartRequest{Definition: all[i], Params: s.Params, Due: s.Due})
	return r.ID, err
}

type flowService = flowapi.Flows

// auditedFlows records in the audit log what people do with flows, or try to do.
type auditedFlows struct {
	flowService
	app *App
}

// flowDeed is what the audit log keeps of a call. It has no values, because they may be secrets.
type flowDeed struct {
	Run       string   `json:"run,omitempty"`
	Task      string   `json:"task,omitempty"`
	Index     *int     `json:"index,omitempty"`
	Group     string   `json:"group,omitempty"`
	Set       []string `json:"set,omitempty"`
	Rows      bool     `json:"rows,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Instances int      `json:"instances,omitempty"`
}

func (f auditedFlows) Start(ctx context.Context, s flowapi.Start) (flowapi.Run, error) {
	r, err := f.flowService.Start(ctx, s)
	d := flowDeed{Run: r.ID, Set: slices.Sorted(maps.Keys(s.Params))}
	f.app.audit(ctx, flowCaller(s.Who), "flow.start", "flow "+s.Flow, d, err)
	return r, err
}

func (f auditedFlows) Order(ctx context.Context, run string, o flowapi.Order) (flowapi.Ordered, error) {
	done, err := f.flowService.Order(ctx, run, o)
	d := flowDeed{Task: o.Task, Index: o.Index, Group: o.Group, Set: slices.Sorted(maps.Keys(o.Set)), Rows: o.Rows, Reason: clip(o.Reason, 500), Instances: done.Instances}
	f.app.audit(ctx, flowCaller(o.Who), "flow."+string(o.Verb), "run "+run, d, err)
	return done, err
}

func flowCaller(name string) admin.Who { return admin.Caller(name, "the API of flows") }

// FlowWorker is a node that only runs attempts of flows that other nodes plan.
type FlowWorker struct {
	Store   string // postgres://…, the store of the processes that plan
	Dir     string // this node's own directory, for logs
	Labels  []string
	Slots   int // attempts at once
	User    string
	Inherit proc.Inherit
	Watch   func(log *slog.Logger, jobs guardian.Jobs) (*guardian.Watch, error) // see flownode.Config
	Log     *slog.Logger
}

// Run works until ctx ends.
func (w FlowWorker) Run(ctx context.Context) (err error) {
	if scheme, _, _ := strings.Cut(w.Store, ":"); scheme != "postgres" && scheme != "postgresql" {
		return fmt.Errorf("work on flows: the store is %s, which only one process can use; name the PostgreSQL of the processes that plan", scheme)
	}
	if err := os.MkdirAll(w.Dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of this node: %w", err)
	}
	name, err := nodeName(&config.Config{StateDir: w.Dir})
	if err != nil {
		return err
	}
	stores, err := store.Open(ctx, w.Store, store.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	n, err := flownode.Open(ctx, flownode.Config{
		Config: flow.Config{Store: stores.Flow, Node: name, Labels: w.Labels, Slots: w.Slots, Works: true, Log: w.Log},
		Dir:    filepath.Join(w.Dir, "flow"), User: w.User, Inherit: w.Inherit, Watch: w.Watch, Query: store.Probe,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	w.Log.Info("works on flows", "node", name, "labels", w.Labels, "slots", w.Slots)
	return n.Run(ctx)
}
