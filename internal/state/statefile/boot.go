package statefile

import (
	"os"
	"strings"
)

// Boot identifies this run of the machine; "" if it is not known.
func Boot() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
