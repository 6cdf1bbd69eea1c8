package poison_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
)

// A payload kills its worker twice. The third copy is refused without a delivery.
func ExampleConfig_Fail() {
	cfg := poison.Config{}.WithDefaults()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).UnixMicro()
	crash := poison.End{Class: bezoar.Crash, Reason: "exit code 139"}

	c, dead := cfg.Fail(nil, crash, now)
	fmt.Println(c.State, dead, cfg.Admit(c, false, true, now) == poison.Alone)

	c, dead = cfg.Fail(c, crash, now)
	fmt.Println(c.State, dead, cfg.Admit(c, false, true, now) == poison.Refuse)
	fmt.Println(c.Left(now))
	// Output:
	// suspect false true
	// quarantined true true
	// 15m0s
}
