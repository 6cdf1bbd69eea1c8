package worker

import (
	"bytes"
	"os"
	"strconv"
)

// started is when a process began, as the kernel counts it: together with its id
// it names one process for as long as the machine runs. 0 where it is not known.
func started(pid int) uint64 {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(stat, []byte(") ")) // behind the name, which may hold anything
	for i := bytes.LastIndex(rest, []byte(") ")); i >= 0; i = -1 {
		rest = rest[i+2:]
	}
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	return n
}
