// Package worktest runs bezoar work as a process, against messages that kill what
// handles them and against kill -9. It has nothing but tests: its handlers, in
// Python, Node, Go and Bash, are in testdata, and BEZOAR_SOAK=1 makes the tests as
// long as what they are to prove.
package worktest
