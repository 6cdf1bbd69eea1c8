package proc

import (
	"sync"
	"testing"
)

// The first thread stands for the whole process in a memory group of version 1:
// a fork from it once had Bezoar killed for its worker's memory.
func TestThreadIsNeverTheFirstThread(t *testing.T) {
	var wg sync.WaitGroup
	for range 200 { // one of them would get it
		wg.Go(func() {
			f := NewThread()
			defer f.Close()
			f.Do(func() {
				if firstThread() {
					t.Error("it is on the process's first thread")
				}
			})
		})
	}
	wg.Wait()
}
