// Command go-new makes the round with a version of the AWS SDK for Go that
// speaks JSON.
package main

import (
	"os"

	"github.com/bezoar-dev/bezoar/clients/go/round"
)

func main() {
	os.Exit(round.Main()) //nolint:forbidigo // the exit code is main's to give
}
