package arch

// exception is one thing that breaks a rule, and why it may.
type exception struct{ rule, what, why string }

func exceptions() []exception {
	child := "it runs in a child process, where taking time is its job"
	return []exception{
		{"global", "internal/test/golden.update", "a flag has to be registered before the test binary parses its arguments"},
		{"sleep", "internal/app/push_test.go", child},
		{"sleep", "internal/process/cgroup/group_linux_test.go", child},
		{"sleep", "internal/process/supervise/child_test.go", child},
	}
}

// reasons looks exceptions up and remembers which were needed.
type reasons struct{ used map[exception]bool }

// excepted reports whether a reason is on file.
func (r *reasons) excepted(rule, what string) bool {
	for _, e := range exceptions() {
		if e.rule == rule && e.what == what {
			r.used[e] = true
			return true
		}
	}
	return false
}

func newReasons() *reasons { return &reasons{used: map[exception]bool{}} }
