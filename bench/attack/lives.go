package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// lives is what the workers themselves have written down: see worker/main.go.
type lives struct{ file string }

// A balance counts lives of workers.
type balance struct {
	started int // that came up
	pills   int // that a pill ended, as they said
	told    int // that were told to end: replaced, stopped
	lost    int // that ended otherwise, by pills among them
	alive   map[string]int
	bad     map[string]bool // processes of the bad build
}

// count reads the file and looks who lives.
func (l lives) count() (balance, error) {
	text, err := os.ReadFile(l.file)
	if err != nil && !os.IsNotExist(err) {
		return balance{}, fmt.Errorf("read the workers' lives: %w", err)
	}
	return tallyLives(text, living)
}

func tallyLives(text []byte, living func(pid string) bool) (balance, error) {
	b := balance{alive: map[string]int{}, bad: map[string]bool{}}
	told, started := map[string]bool{}, map[string]string{}
	for line := range bytes.Lines(text) {
		var what, pid, build string
		if _, err := fmt.Sscan(string(line), &what, &pid, &build); err != nil {
			return b, fmt.Errorf("the workers' lives: %q: %w", line, err)
		}
		switch what {
		case "start":
			started[pid] = build
			b.started++
			b.bad[pid] = build == "bad"
		case "pill":
			b.pills++
		case "told":
			told[pid] = true
		}
	}
	for pid, build := range started {
		switch {
		case living(pid):
			b.alive[build]++
		case told[pid]:
			b.told++
		}
	}
	b.lost = b.started - b.told - b.alive["good"] - b.alive["bad"]
	return b, nil
}

// living reports whether a process runs.
func living(pid string) bool {
	if _, err := strconv.Atoi(pid); err != nil {
		return false
	}
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	rest := string(text[bytes.LastIndexByte(text, ')')+1:])
	return !strings.HasPrefix(rest, " Z") && !strings.HasPrefix(rest, " X")
}
