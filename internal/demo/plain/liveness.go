package plain

import (
	"context"
	"net/http"
	"time"
)

// How liveness is checked: the usual three failures in a row, at a quicker pace
// than the usual ten seconds.
const (
	checkEvery   = time.Second
	checkTimeout = time.Second
	checkStrikes = 3
)

// Watch asks one worker's health path until ctx ends. It returns true when the
// worker has failed often enough to be killed.
func Watch(ctx context.Context, url string) (hung bool) {
	return watch(ctx, url, checkEvery)
}

func watch(ctx context.Context, url string, every time.Duration) (hung bool) {
	client := &http.Client{Timeout: checkTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for strikes := 0; strikes < checkStrikes; {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if answers(ctx, client, url) {
			strikes = 0
		} else {
			strikes++
		}
	}
	return ctx.Err() == nil
}

func answers(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
