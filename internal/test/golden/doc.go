// Package golden compares what a test produced with a file under testdata, and
// rewrites the file when the test is run with -update. Only tests import it.
package golden
