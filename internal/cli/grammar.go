package cli

import "github.com/bezoar-dev/bezoar/internal/cli/cmdline"

// grammar is the whole command line.
type grammar struct {
	JSON    bool `name:"json" help:"Print one JSON document with stable names instead of text; messages and logs stay on stderr."`
	Version bool `help:"Print the version."`

	Run   runCmd   `cmd:"" group:"start" help:"Put any HTTP server behind the gateway."`
	Serve serveCmd `cmd:"" group:"start" help:"Serve everything that a settings file names."`
	Work  workCmd  `cmd:"" group:"start" help:"Handle the messages of a queue, each in its own process."`
	Flow  flowCmd  `cmd:"" group:"start" help:"Run tasks in the order of a graph."`
	Init  initCmd  `cmd:"" group:"start" help:"Write a settings file for the server of this folder."`
	Demo  demoCmd  `cmd:"" group:"start" help:"Show real workers and a request that kills them, or crashes of an outbox."`

	Fleet fleetCmd `cmd:"" group:"look" help:"Workers: their states and restarts."`
	Top   topCmd   `cmd:"" group:"look" help:"Callers that cause most work, refusals or errors."`
	Audit auditCmd `cmd:"" group:"look" help:"Who did what, and when."`
	Alarm alarmCmd `cmd:"" group:"look" help:"Alarms: their conditions, receivers and states."`

	Doctor doctorCmd `cmd:"" group:"look" help:"Report what is wrong or risky in this deployment, with fixes."`

	Quarantine quarantineCmd `cmd:"" group:"act" help:"Verdicts: list, explain, add and lift them."`
	DLQ        dlqCmd        `cmd:"" group:"act" name:"dlq" help:"Dead letters: look, edit, send again, discard."`
	Queue      queueCmd      `cmd:"" group:"act" help:"Queues: what they hold, and messages in and out."`
	Outbox     outboxCmd     `cmd:"" group:"act" help:"Events of an application's database: what waits, and what needs a person."`
	Override   overrideCmd   `cmd:"" group:"act" help:"Temporary limits for a caller, a plan or a route."`
	Breaker    breakerCmd    `cmd:"" group:"act" help:"Circuit breakers: list them, force them open or closed."`

	Config  configCmd  `cmd:"" group:"configure" help:"Settings: check a file, change what runs, go back."`
	Guard   guardCmd   `cmd:"" group:"configure" help:"Query guard: what queries cost, and limits on it."`
	Backup  backupCmd  `cmd:"" group:"configure" help:"Copy the SQLite store to a file, also while it is used."`
	Restore restoreCmd `cmd:"" group:"configure" help:"Put a backup in the place of the SQLite store."`

	Sift         siftCmd         `cmd:"" group:"tools" help:"Feed rows to a command and find the bad ones."`
	Crash        crashCmd        `cmd:"" group:"tools" help:"Show what failed, from any program's output."`
	VersionCmd   versionCmd      `cmd:"" group:"tools" name:"version" help:"Print the version."`
	Completion   completionCmd   `cmd:"" group:"tools" help:"Print a completion script for a shell."`
	Man          manCmd          `cmd:"" group:"tools" hidden:"" help:"Write the manual's pages to a folder, for packages."`
	Names        namesCmd        `cmd:"" group:"tools" hidden:"" help:"List names of the running Bezoar, for completion scripts."`
	SampleWorker sampleWorkerCmd `cmd:"" group:"tools" hidden:"" name:"sample-worker" help:"The worker that the demonstration kills."`
	SampleOutbox sampleOutboxCmd `cmd:"" group:"tools" hidden:"" name:"sample-outbox" help:"The application and the relay that the demonstration of an outbox kills."`
}

// groups are the groups of the top-level help, in its order.
func groups() []cmdline.Group {
	return []cmdline.Group{
		{Key: "start", Title: "Start:"},
		{Key: "look", Title: "Look:"},
		{Key: "act", Title: "Act:"},
		{Key: "configure", Title: "Configure:"},
		{Key: "tools", Title: "Tools:"},
	}
}

// Help is shown below the top-level help.
func (grammar) Help() string { return exitHelp }
