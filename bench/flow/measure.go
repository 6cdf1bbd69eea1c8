package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

// The programs.
const (
	bezoar = "bezoar"
	dagu   = "dagu"
)

// The ways to run a graph.
const (
	cold = "command" // the program is started for the run: bezoar flow run, dagu start
	warm = "server"  // a server runs already: POST, until the last task has ended
)

// limit is the longest time of one run.
const limit = 2 * time.Minute

// sample is one run.
type sample struct{ wall, cpu time.Duration }

// subject is one of the programs with its folders.
type subject struct {
	name, bin string
	root      string                 // state, and a folder for each graph
	start     func(g graph) []string // the command for one run
	server    string                 // base URL
	post      func(g graph) (path, body string)
}

func (s *subject) dir(g graph) string { return filepath.Join(s.root, g.name) }

func subjects(cfg Config, dir string) (*subject, *subject) {
	b := &subject{name: bezoar, bin: cfg.Bezoar, root: filepath.Join(dir, bezoar)}
	b.start = func(g graph) []string {
		return []string{"flow", "run", filepath.Join(b.root, "flows", g.name+".yaml"), "--state", filepath.Join(b.root, "state"), "--slots", strconv.Itoa(cfg.Slots)}
	}
	b.post = func(g graph) (string, string) { return "/api/flow/runs", fmt.Sprintf(`{"flow": %q}`, g.name) }
	d := &subject{name: dagu, bin: cfg.Dagu, root: filepath.Join(dir, dagu)}
	d.start = func(g graph) []string {
		return []string{"start", "--quiet", "--dagu-home", filepath.Join(d.root, "state"), filepath.Join(d.root, "flows", g.name+".yaml")}
	}
	d.post = func(g graph) (string, string) { return "/api/v2/dags/" + g.name + "/start", "{}" }
	return b, d
}

// measure runs all graphs with both programs, in turns.
func measure(ctx context.Context, cfg Config, bench *peer.Bench, stderr io.Writer) (*Report, error) {
	ours, theirs := subjects(cfg, bench.Dir())
	both := []*subject{ours, theirs}
	var picked []graph
	for _, g := range graphs() {
		for _, name := range cfg.Cases {
			if g.name == name {
				picked = append(picked, g)
			}
		}
	}
	for _, s := range both {
		if err := s.write(picked, cfg.Slots); err != nil {
			return nil, err
		}
		if err := s.serve(ctx, bench, cfg.Slots); err != nil {
			return nil, err
		}
	}
	r := &Report{Rounds: cfg.Rounds, Slots: cfg.Slots, Dagu: version(ctx, cfg.Dagu)}
	for _, way := range []string{cold, warm} {
		for _, g := range picked {
			fmt.Fprintf(stderr, "%s: %s\n", way, g.name)
			row, err := compare(ctx, cfg, both, g, way)
			if err != nil {
				return nil, err
			}
			r.Rows = append(r.Rows, row)
		}
	}
	return r, nil
}

// compare runs one graph in all rounds. The first round is not counted: it makes the files of the state.
func compare(ctx context.Context, cfg Config, both []*subject, g graph, way string) (Row, error) {
	samples := map[string][]sample{}
	made := map[string]bool{}
	for round := range cfg.Rounds + 1 {
		for i := range both {
			s := both[(i+round)%len(both)]
			got, result, err := s.run(ctx, g, way)
			if err != nil {
				return Row{}, fmt.Errorf("%s, %s, %s: %w", s.name, way, g.name, err)
			}
			if made[result] = true; len(made) > 1 {
				return Row{}, fmt.Errorf("%s, %s, %s: the results of the programs differ", s.name, way, g.name)
			}
			if round > 0 {
				samples[s.name] = append(samples[s.name], got)
			}
		}
	}
	return newRow(g, way, samples), nil
}

// write writes the graphs into the folder of the program.
func (s *subject) write(all []graph, slots int) error {
	for _, g := range all {
		if err := os.MkdirAll(s.dir(g), 0o755); err != nil {
			return err
		}
		text := g.forBezoar(s.dir(g), slots)
		if s.name == dagu {
			text = g.forDagu(s.dir(g), slots)
		}
		if err := os.MkdirAll(filepath.Join(s.root, "flows"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(s.root, "flows", g.name+".yaml"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// serve starts the program's server.
func (s *subject) serve(ctx context.Context, bench *peer.Bench, slots int) error {
	addrs, err := proc.FreeAddrs(2)
	if err != nil {
		return err
	}
	home := filepath.Join(s.root, "server")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	spec := proc.Spec{Name: s.name, Dir: home}
	ready := "/readyz"
	if s.name == dagu {
		host, port, _ := strings.Cut(addrs[0], ":")
		spec.Args = []string{s.bin, "server", "--quiet", "--host", host, "--port", port, "--dagu-home", home, "--dags", filepath.Join(s.root, "flows")}
		spec.Env, ready = []string{"DAGU_AUTH_MODE=none"}, "/api/v2/health"
	} else {
		file := filepath.Join(home, "bezoar.yaml")
		text := fmt.Sprintf("store: sqlite:bezoar.db\nadmin: %s\nflows: {dir: %s, slots: %d}\n", addrs[0], quoted(filepath.Join(s.root, "flows")), slots)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		spec.Args = []string{s.bin, "serve", "-c", file, "--sqs", addrs[1]}
	}
	c, err := bench.Start(spec)
	if err != nil {
		return err
	}
	s.server = "http://" + addrs[0]
	return peer.Wait(ctx, c, s.server+ready)
}

// run runs a graph once and checks what ran.
func (s *subject) run(ctx context.Context, g graph, way string) (got sample, result string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %v", limit))
	defer cancel()
	if err := os.RemoveAll(s.dir(g)); err != nil {
		return got, "", err
	}
	if err := os.MkdirAll(s.dir(g), 0o755); err != nil {
		return got, "", err
	}
	if way == warm {
		got, err = s.request(ctx, g)
	} else {
		got, err = s.command(ctx, g)
	}
	if err != nil {
		return got, "", err
	}
	result, err = g.check(s.dir(g))
	return got, result, err
}

// command starts the program for one run.
func (s *subject) command(ctx context.Context, g graph) (sample, error) {
	cmd := exec.CommandContext(ctx, s.bin, s.start(g)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &said, &said, s.root
	began := time.Now()
	err := cmd.Run()
	if err != nil {
		return sample{}, fmt.Errorf("%w\n%s", errors.Join(err, context.Cause(ctx)), said.Bytes()[max(0, said.Len()-2<<10):])
	}
	return sample{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// lookEvery is the time between two looks at how many tasks have run.
const lookEvery = time.Millisecond

// request starts a run by the API of the server and waits until the last task has ended.
func (s *subject) request(ctx context.Context, g graph) (sample, error) {
	path, body := s.post(g)
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server+path, strings.NewReader(body))
	if err != nil {
		return sample{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return sample{}, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	_ = answer.Body.Close()
	if err != nil {
		return sample{}, fmt.Errorf("POST %s: %w", path, err)
	}
	// dagu answers 500 to some starts of a run that is over before it looks: whether the tasks ran is what counts.
	if answer.StatusCode/100 != 2 && (s.name != dagu || answer.StatusCode != http.StatusInternalServerError) {
		return sample{}, fmt.Errorf("POST %s: %s: %s", path, answer.Status, text)
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		ran, err := os.ReadFile(filepath.Join(s.dir(g), ranFile))
		if err == nil && bytes.Count(ran, []byte("\n")) >= len(g.tasks) {
			return sample{wall: time.Since(began)}, nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return sample{}, fmt.Errorf("%w; POST %s: %s: %s", context.Cause(ctx), path, answer.Status, text)
		}
	}
}

func version(ctx context.Context, bin string) string {
	out, err := exec.CommandContext(ctx, bin, "version").CombinedOutput()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
