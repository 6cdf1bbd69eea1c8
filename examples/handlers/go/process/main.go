// Works on one message, for `bezoar work -- ./process`.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

type job struct {
	Text  any  `json:"text"`
	Busy  int  `json:"busy"`
	Crash bool `json:"crash"`
	Hang  bool `json:"hang"`
}

// report adds details to the exit code.
func report(more map[string]any) {
	_ = json.NewEncoder(os.NewFile(3, "report")).Encode(more) // nobody may want to hear it
}

func main() {
	var j job
	body, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = json.Unmarshal(body, &j)
	}
	if err != nil {
		report(map[string]any{"reason": "no JSON: " + err.Error()})
		os.Exit(65) // never: a dead letter at once
	}
	if j.Busy > 0 {
		report(map[string]any{"class": "throttled", "retry_after": j.Busy, "downstream": "shop"})
		os.Exit(75) // later
	}
	if j.Crash {
		debug.SetTraceback("crash") // Go's runtime ends by exit code 2 after most crashes; so it ends by a signal
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		time.Sleep(time.Hour) // another thread may be the one to get it
	}
	if j.Hang {
		time.Sleep(time.Hour)
	}
	fmt.Println(strings.ToUpper(j.Text.(string))) // panics if it is not a string: a bug, with this place as its fingerprint
}
