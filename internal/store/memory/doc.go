// Package memory implements the engines' stores in the memory of the process, for
// demonstrations and tests. Memory is bounded. It passes the same test suites as the
// databases, except that nothing survives the process.
package memory
