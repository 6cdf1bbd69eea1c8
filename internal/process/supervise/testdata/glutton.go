// Command glutton is a worker that takes all the memory there is when asked. It
// is built apart from the tests because the race detector maps far more than
// any limit.
package main

import (
	"bytes"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(http.ResponseWriter, *http.Request) {
		for hoard := [][]byte{}; ; {
			hoard = append(hoard, bytes.Repeat([]byte{1}, 1<<20))
		}
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil); err != nil {
		os.Exit(1)
	}
}
