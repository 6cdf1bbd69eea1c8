// Package statefile opens, locks and replaces files that outlive a process.
package statefile
