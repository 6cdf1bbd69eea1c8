// Command bezoar blames the work, fairly, and keeps the fleet alive.
package main

import (
	"context"
	"os"

	"github.com/bezoar-dev/bezoar/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.Process{
		Args:   os.Args[1:],
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Getenv: os.Getenv,
		Exit:   os.Exit,
		Engine: engine(),
	}))
}
