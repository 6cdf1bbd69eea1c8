// Package brokertest is the suite that every source of package worker for a message
// broker passes, against a server.
package brokertest
