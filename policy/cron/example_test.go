package cron_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/cron"
)

func ExampleParse() {
	s, err := cron.Parse("30 2 * * mon-fri")
	if err != nil {
		fmt.Println(err)
		return
	}
	friday := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	fmt.Println(s.Next(friday, time.UTC))
	// Output: 2026-11-30 02:30:00 +0000 UTC
}
