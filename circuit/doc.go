// Package circuit keeps the circuit breakers of a process.
package circuit
