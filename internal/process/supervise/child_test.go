package supervise

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// What makes the test binary a child, and what it finds in its environment.
const (
	envRole = "SUPERVISE_TEST_ROLE"
	envFlag = "SUPERVISE_TEST_FLAG" // a file by which tests speak to new children
)

// child is a worker process.
//
//	server     serves the routes below
//	stubborn   the same, and ignores SIGTERM
//	polite     the same, and exits 0 on SIGTERM
//	thorough   the same, and takes a while for its work when it gets SIGTERM and
//	           its parent is dead; the flag file says that it is done
//	build      the same, unless the flag file is there: then it exits at once
//	mute       never opens its port
//	sleeper    sleeps
//	elsewhere  listens at the address that the flag file has
//	nest       supervises two servers itself
func child(role string) {
	switch role {
	case "server":
		serve()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		serve()
	case "polite":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		go func() { <-term; os.Exit(0) }()
		serve()
	case "thorough":
		parent, term := os.Getppid(), make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		go func() {
			<-term
			for os.Getppid() == parent {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond)
			_ = os.WriteFile(os.Getenv(envFlag), nil, 0o600)
			os.Exit(0)
		}()
		serve()
	case "build":
		if _, err := os.Stat(os.Getenv(envFlag)); err == nil {
			fmt.Fprintln(os.Stderr, "bad build")
			os.Exit(7)
		}
		serve()
	case "mute", "sleeper":
		time.Sleep(time.Hour)
	case "elsewhere":
		addr, _ := os.ReadFile(os.Getenv(envFlag))
		network := "tcp"
		if strings.Contains(string(addr), "/") {
			network = "unix"
		}
		ln, err := net.Listen(network, strings.ReplaceAll(string(addr), "PORT", os.Getenv("PORT")))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "listening")
		_ = http.Serve(ln, nil)
	case "nest":
		nest()
	}
}

func serve() {
	var status atomic.Int64
	status.Store(200)
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) })
	mux.HandleFunc("/status", func(_ http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("code"))
		status.Store(int64(n))
	})
	mux.HandleFunc("/about", func(w http.ResponseWriter, _ *http.Request) {
		in, err := io.ReadAll(os.Stdin)
		fmt.Fprintf(w, "pid=%d pgid=%d args=%q stdin=%q,%v\n%s", os.Getpid(), syscall.Getpgrp(), os.Args, in, err,
			strings.Join(os.Environ(), "\n"))
	})
	mux.HandleFunc("/say", func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.FormValue("out"))
		fmt.Fprintln(os.Stderr, r.FormValue("err"))
	})
	mux.HandleFunc("/exit", func(_ http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("code"))
		fmt.Fprint(os.Stderr, r.FormValue("say"))
		os.Exit(n)
	})
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) {
		go func() { panic("swallowed a pill") }() // not in the handler, where it would be caught
		select {}
	})
	mux.HandleFunc("/oom", func(http.ResponseWriter, *http.Request) {
		for hoard := [][]byte{}; ; {
			hoard = append(hoard, bytes.Repeat([]byte{1}, 1<<20))
		}
	})
	mux.HandleFunc("/flood", func(_ http.ResponseWriter, r *http.Request) {
		mb, _ := strconv.Atoi(r.FormValue("mb"))
		line := strings.Repeat("x", 1023) + r.FormValue("end")
		for range mb << 10 {
			_, _ = io.WriteString(os.Stderr, line)
		}
		fmt.Fprintln(os.Stderr, "last words")
	})
	mux.HandleFunc("/child", func(w http.ResponseWriter, r *http.Request) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envRole+"=sleeper")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // holds the pipes open
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: r.FormValue("session") == "own"}
		if err := cmd.Start(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, cmd.Process.Pid)
	})
	fmt.Println("listening")
	if err := http.ListenAndServe("127.0.0.1:"+os.Getenv(EnvPort), mux); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// nest supervises two servers and prints their process ids.
func nest() {
	reg := newRecorder()
	s, err := New(Config{
		Name: "nest", Command: []string{os.Args[0]}, Replicas: 2, Registry: reg,
		Env: []string{envRole + "=server"},
	})
	if err != nil {
		panic(err)
	}
	go func() {
		for reg.count("up") < 2 {
			<-time.After(time.Millisecond)
		}
		for _, st := range s.Status() {
			fmt.Println(st.PID)
		}
		fmt.Println("end")
	}()
	_ = s.Run(context.Background())
}

// process is one as /proc shows it.
type process struct {
	pid, parent, group int
	state              string
	marked             bool // its environment holds the mark asked for
}

// processes returns all processes but ours.
func processes(t *testing.T, mark string) []process {
	t.Helper()
	names, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var out []process
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		b, err := os.ReadFile("/proc/" + n.Name() + "/stat")
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		p := process{pid: pid, state: f[0]}
		p.parent, _ = strconv.Atoi(f[1])
		p.group, _ = strconv.Atoi(f[2])
		env, _ := os.ReadFile("/proc/" + n.Name() + "/environ")
		p.marked = bytes.Contains(env, []byte(mark))
		out = append(out, p)
	}
	return out
}

// lives reports whether a process is there and not a zombie.
func lives(pid int) bool {
	switch stateOf(pid) {
	case 0, 'Z', 'X':
		return false
	}
	return true
}

// stateOf returns the state letter of a process, 0 when there is none.
func stateOf(pid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return b[bytes.LastIndexByte(b, ')')+2]
}
