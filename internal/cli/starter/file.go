package starter

import (
	"encoding/json"
	"strings"
)

// File returns a settings file for g, with comments that say what to change.
func (g Guess) File() []byte {
	words := make([]string, len(g.Command))
	for i, w := range g.Command {
		q, err := json.Marshal(w)
		if err != nil {
			panic(err) // a string always encodes
		}
		words[i] = string(q)
	}
	note := "# Write the command of your server here. It reads its port from $PORT, or from {port} among its arguments."
	if g.From != "" {
		note = "# From " + g.From + ". "
		if g.Port {
			note += "{port} stands for the worker's port."
		} else {
			note += "The server has to listen on the port in $PORT."
		}
	}
	if g.Before != "" {
		note += "\n    # Build it first: " + g.Before
	}
	buffer := "# "
	if command := strings.Join(g.Command, " "); strings.Contains(command, "gunicorn") || strings.Contains(command, "manage.py") {
		buffer = "" // they wait for slow callers, and Django takes a body without a length for empty
	}
	return []byte(strings.NewReplacer("NOTE", note, "BUFFER", buffer, "COMMAND", strings.Join(words, ", ")).Replace(template))
}

const template = `# Settings of Bezoar. Start it with: bezoar serve
# Check this file with: bezoar config check
listen: 127.0.0.1:8080            # callers
admin: 127.0.0.1:7070             # console, API and metrics
store: sqlite:bezoar.db           # verdicts and dead letters; postgres://… for more than one machine

fleets:
  app:
    NOTE
    command: [COMMAND]
    replicas: 4                   # one of them can be busy with suspects
    # health: {path: /healthz}    # without it, a worker is healthy when its port accepts connections
    # memory: 512MiB              # of each worker

routes:
  - match: {path: /*}
    fleet: app
    # timeout: 30s                # until an answer must begin
    BUFFERbuffer_body: 100MiB       # reads long bodies before it asks a worker, and sends them with their length
    # client: header:X-Api-Key    # who calls; needed for limits for each caller
    # limits: [{rate: 100/s}]
    # quarantine: {report_only: true}   # report what would be refused, and refuse nothing
`
