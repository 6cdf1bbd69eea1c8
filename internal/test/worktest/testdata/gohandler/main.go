// Command gohandler does what a message says, however bad: see handler.py.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type message struct {
	ID       string `json:"id"`
	Body     string `json:"body"`
	Receives int    `json:"receives"`
}

func (m message) kind() string { return strings.Fields(m.Body)[0] }

func (m message) note(what string) {
	f, err := os.OpenFile(os.Getenv("DIARY"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s %d %d %s\n", what, m.ID, m.Receives, os.Getpid(), m.kind())
}

func deep(n int) int { return deep(n+1) + 1 }

// handle returns the class of the end, for ends that a handler can choose.
func handle(m message) string {
	switch m.kind() {
	case "good":
	case "segv":
		debug.SetTraceback("crash") // or Go would report it and exit
		fmt.Println(*(*int)(nil))
	case "abort":
		// As C would: Go's runtime has an answer to this signal that takes its time.
		panic(syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -ABRT $$"}, os.Environ()))
	case "oom":
		for hoard := [][]byte{}; ; {
			hoard = append(hoard, bytes.Repeat([]byte{1}, 1<<20))
		}
	case "loop":
		signal.Ignore(syscall.SIGTERM)
		for {
			time.Sleep(time.Hour)
		}
	case "escape":
		c := exec.Command("/bin/sh", "-c", fmt.Sprintf("sleep 600; : %s/%d", m.ID, m.Receives))
		c.Env, c.Stdout, c.Stderr, c.SysProcAttr = []string{}, os.Stdout, os.Stderr, &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			panic(err)
		}
	case "invalid":
		return "invalid"
	case "later":
		if m.Receives <= 3 {
			return "transient"
		}
	case "overflow":
		debug.SetMaxStack(8 << 20)
		fmt.Println(deep(0))
	case "flood":
		line := append(bytes.Repeat([]byte("x"), 1<<20-1), '\n')
		for range 50 {
			_, _ = os.Stderr.Write(line)
		}
		panic("flooded")
	default:
		panic("no kind " + m.kind())
	}
	return "done"
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "pool" {
		pool()
		return
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(os.Getenv("BEZOAR_RECEIVE_COUNT"))
	if err != nil {
		panic(err)
	}
	m := message{ID: os.Getenv("BEZOAR_MESSAGE_ID"), Body: string(body), Receives: n}
	m.note("begin")
	class := handle(m)
	m.note("end")
	os.Exit(map[string]int{"done": 0, "invalid": 65, "transient": 75}[class])
}

func pool() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		if m.ID == "" {
			fmt.Println(`{"bezoar":1}`)
			continue
		}
		m.note("begin")
		class := handle(m)
		m.note("end")
		fmt.Printf("{\"bezoar\":1,\"id\":%q,\"class\":%q}\n", m.ID, class)
	}
}
