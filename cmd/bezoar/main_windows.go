// The program does not run on Windows.

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bezoar: the program runs on Linux and macOS, not on Windows\nhint: run it in WSL or in a container; docs/install.md says more")
	os.Exit(1)
}
