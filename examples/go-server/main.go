// Command go-server is an ordinary server that some requests kill: /crash and
// /hang. ../README.md shows how to run it behind Bezoar.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

var catalogue = []string{"bezoar stone", "bloodstone", "moonstone", "amber", "jet"}

// shop holds the state that all requests share.
type shop struct {
	mu sync.Mutex // guards sales
	// sales counts searches by word.
	sales map[string]int
}

func (s *shop) search(w http.ResponseWriter, r *http.Request) {
	q := r.FormValue("q")
	s.mu.Lock()
	s.sales[q]++
	s.mu.Unlock()
	for _, item := range catalogue {
		if strings.Contains(item, q) {
			fmt.Fprintln(w, item)
		}
	}
}

func (s *shop) healthz(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock() // a shop that cannot count is unhealthy
	defer s.mu.Unlock()
	fmt.Fprintln(w, "ok")
}

func slow(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(500 * time.Millisecond):
		fmt.Fprintln(w, "done")
	case <-r.Context().Done():
	}
}

// crash follows a nil pointer outside the handler, where net/http cannot catch it.
func crash(http.ResponseWriter, *http.Request) {
	go func() {
		var s *shop
		s.sales["crash"]++
	}()
	select {}
}

// hang takes the lock that all requests need, and keeps it.
func (s *shop) hang(http.ResponseWriter, *http.Request) {
	s.mu.Lock()
	select {}
}

func main() {
	s := &shop{sales: map[string]int{}}
	http.HandleFunc("/search", s.search)
	http.HandleFunc("/healthz", s.healthz)
	http.HandleFunc("/slow", slow)
	http.HandleFunc("/crash", crash)
	http.HandleFunc("/hang", s.hang)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
