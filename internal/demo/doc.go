// Package demo shows what Bezoar is for: a real fleet of child processes, real
// traffic, and a real pill, first behind a plain retrying balancer and then
// behind Bezoar itself, with the same workers, callers and pills.
//
// Nothing is simulated. The workers are processes of package sample under the
// supervisor that `bezoar run` uses; the defence is the application that `bezoar
// serve` runs, on loopback ports and with a store in memory. What is reported is
// what callers saw and which processes died.
//
//	sample   the worker: one event loop, several ways to kill it
//	traffic  the crowd: good callers at a steady rate, and pills
//	plain    the balancer without a defence
package demo
