// Package openloop has what the crowds of the benchmarks share: sending at fixed
// times whatever the answers, and reading the times that the answers took.
package openloop
