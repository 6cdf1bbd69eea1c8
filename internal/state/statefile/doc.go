// Package statefile is what files that outlive a process have in common.
package statefile
