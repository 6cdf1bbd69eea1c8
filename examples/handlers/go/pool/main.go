// Works on one message after another, for `bezoar work --mode pool -- ./pool`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

type message struct {
	ID     string  `json:"id"`
	Body   *string `json:"body"`
	Base64 []byte  `json:"body_base64"`
}

type answer struct {
	Bezoar     int    `json:"bezoar"`
	ID         string `json:"id,omitempty"`
	Class      string `json:"class,omitempty"`
	Reason     string `json:"reason,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty"`
	Downstream string `json:"downstream,omitempty"`
}

type job struct {
	Text  any  `json:"text"`
	Busy  int  `json:"busy"`
	Crash bool `json:"crash"`
	Hang  bool `json:"hang"`
}

func main() {
	debug.SetTraceback("crash") // a crash of the runtime ends in a signal, not in exit code 2
	answers := json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr           // from now on prints are not answers
	in := bufio.NewReader(os.Stdin) // a Scanner would stop at lines of 64 KiB
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // the end of stdin: exit
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		a := answer{Bezoar: 1} // without an id: the hello
		if m.ID != "" {
			body := m.Base64
			if m.Body != nil {
				body = []byte(*m.Body)
			}
			work(body, &a)
			a.ID = m.ID
		}
		if answers.Encode(a) != nil {
			return
		}
	}
}

// work processes one message. A panic counts as a bug in this program.
func work(body []byte, a *answer) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n\n%s", r, debug.Stack())
			a.Class, a.Reason = "bug", fmt.Sprint(r)
		}
	}()
	var j job
	if err := json.Unmarshal(body, &j); err != nil {
		a.Class, a.Reason = "invalid", "no JSON: "+err.Error()
		return
	}
	if j.Busy > 0 {
		a.Class, a.RetryAfter, a.Downstream = "throttled", j.Busy, "shop"
		return
	}
	if j.Crash {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		time.Sleep(time.Hour) // another thread may be the one to get it
	}
	if j.Hang {
		time.Sleep(time.Hour)
	}
	fmt.Println(strings.ToUpper(j.Text.(string)))
}
