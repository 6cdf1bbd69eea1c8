// Package stale keeps the last good answers of upstreams, to be shown when they
// cannot answer.
package stale
