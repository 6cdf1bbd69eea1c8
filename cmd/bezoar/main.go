//go:build !windows

// Command bezoar blames the work, fairly, and keeps the fleet alive.
package main

import (
	"context"
	"fmt"
	"os"
	_ "time/tzdata" // zones of schedules, where the system has none

	"github.com/bezoar-dev/bezoar/internal/cli"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/internal/process/initproc"
)

func main() {
	if guardian.Run() {
		return
	}
	code, done, err := initproc.Run()
	if done {
		os.Exit(code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bezoar: orphans stay zombies:", err)
	}
	os.Exit(cli.Main(context.Background(), cli.Process{
		Args:   os.Args[1:],
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Getenv: os.Getenv,
		Exit:   os.Exit,
		Guard:  guardian.Start,
		Engine: engine(),
	}))
}
