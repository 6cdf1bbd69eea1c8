// Package brokertest is the test suite for broker sources of package worker, run against a
// real server.
package brokertest
