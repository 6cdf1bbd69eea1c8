// Package sinktest is the test suite for sinks of an outbox, run against a real server.
package sinktest
