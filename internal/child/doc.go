// Package child runs one job in one isolated child process: limits, a deadline
// from outside, and a plain answer to how it ended.
package child
