package cli

// grammar is the whole command line.
type grammar struct {
	JSON bool `name:"json" help:"Print one JSON document with stable names instead of text; messages and logs stay on stderr."`

	Run        runCmd        `cmd:"" help:"Put any HTTP server behind the gateway: start and supervise copies of it, or front running ones."`
	Serve      serveCmd      `cmd:"" help:"Serve everything that a settings file names."`
	Demo       demoCmd       `cmd:"" help:"Show real workers, real traffic and a request that kills, without Bezoar and with it."`
	Quarantine quarantineCmd `cmd:"" help:"Verdicts: list, explain, add and lift them."`
	DLQ        dlqCmd        `cmd:"" name:"dlq" help:"Dead letters: work that was set aside, with its evidence."`
	Flow       flowCmd       `cmd:"" help:"Flows: tasks in the order of a graph, where a poisoned task cannot waste the rest."`
	Queue      queueCmd      `cmd:"" help:"Queues: what they hold, and messages in and out."`
	Backup     backupCmd     `cmd:"" help:"Copy the SQLite store to a file, while Bezoar serves or not."`
	Work       workCmd       `cmd:"" help:"Handle the messages of any SQS-compatible queue, each in its own isolated process."`
	Guard      guardCmd      `cmd:"" help:"Query guard: predict what queries cost before a backend sees them."`
	Sift       siftCmd       `cmd:"" help:"Feed rows to a command, find the bad ones by bisection, finish the rest."`
	Crash      crashCmd      `cmd:"" help:"Show what failed, from any program's output: type, place, fingerprint and group."`
	Fleet      fleetCmd      `cmd:"" help:"Workers, their states and restarts."`
	Top        topCmd        `cmd:"" help:"List the callers that cause most: time on workers, requests, refusals, errors or bytes."`
	Config     configCmd     `cmd:"" help:"Settings: check a file, see which run, change them and go back."`
	Override   overrideCmd   `cmd:"" help:"Tighten or loosen for a caller, a plan or a route, for a while."`
	Breaker    breakerCmd    `cmd:"" help:"Circuit breakers: list them, and force them open or closed."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Completion completionCmd `cmd:"" help:"Print a completion script for a shell."`

	SampleWorker sampleWorkerCmd `cmd:"" hidden:"" name:"sample-worker" help:"The worker that the demonstration kills."`
}

// Help is shown below the top-level help.
func (grammar) Help() string { return exitHelp }
