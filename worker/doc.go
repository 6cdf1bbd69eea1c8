// Package worker takes messages from a queue and works on them.
package worker
