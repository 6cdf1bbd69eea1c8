// Package peer runs what stands before workers in the benchmarks: nginx,
// HAProxy, Go's stock reverse proxy and Bezoar. A [Bench] finds or builds the
// programs once; each Start method writes a configuration, runs one proxy on a
// free port and returns when it answers.
//
// Every proxy gets the same: one core's worth of threads, keep-alive to callers
// and workers, no access log. What is otherwise not its default is in the
// configuration that the method's comment shows or its options say.
package peer
