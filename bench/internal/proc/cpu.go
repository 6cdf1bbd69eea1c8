package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ, 100 on every Linux but
// Alpha's.
const tick = 10 * time.Millisecond

// CPU returns the user and system time that the living processes of the child's
// group have used. Kernels that account precisely make it exact to a tick.
func (c *Child) CPU() (time.Duration, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	found := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		group, used, err := parseStat(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if group == c.cmd.Process.Pid {
			sum, found = sum+used, true
		}
	}
	if !found {
		return 0, fmt.Errorf("CPU time of %s: no process of group %d is left", c.name, c.cmd.Process.Pid)
	}
	return sum, nil
}

// parseStat reads the process group and the time used from a line of
// /proc/PID/stat. The name in it may contain anything, so it is skipped from
// the right.
func parseStat(line string) (group int, used time.Duration, err error) {
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	const pgrp, utime, stime = 5 - 3, 14 - 3, 15 - 3 // of proc(5), less what was skipped
	if len(fields) <= stime {
		return 0, 0, fmt.Errorf("%d fields after the name, want more than %d", len(fields), stime)
	}
	if group, err = strconv.Atoi(fields[pgrp]); err != nil {
		return 0, 0, fmt.Errorf("process group: %w", err)
	}
	for _, i := range []int{utime, stime} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("time: %w", err)
		}
		used += time.Duration(n) * tick
	}
	return group, used, nil
}
