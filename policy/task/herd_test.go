package task_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/golden"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/task"
)

const (
	herd   = 5000             // tasks that need one downstream
	down   = 60 * time.Second // how long it is not there
	drawn  = 150              // seconds
	atMost = 20               // the peak without jitter is as many times that with it
)

// attempts counts, by second, the attempts of tasks that all fail at once, until
// their downstream is back.
func attempts(s backoff.Strategy) (perSecond []int) {
	random := rand.New(rand.NewPCG(1, 2))
	r := rules()
	r.Attempts, r.Backoff = 50, backoff.Config{Strategy: s, Base: time.Second, Cap: 5 * time.Minute}
	perSecond = make([]int, drawn)
	for range herd {
		now, h := time.Duration(0), task.History{}
		for {
			if at := int(now / time.Second); at < drawn {
				perSecond[at]++
			}
			if now >= down {
				break
			}
			var v task.Verdict
			h, v = r.Judge(h, task.End{Class: bezoar.Outage, Reason: "connection refused"}, task.Room{Now: time.Unix(0, 0).Add(now)}, random.Float64())
			if v.Event != task.TryAgain {
				return nil
			}
			now += v.Wait
		}
	}
	return perSecond
}

// peak is the most attempts in one second after the downstream is back.
func peak(perSecond []int) (most int) {
	for at, n := range perSecond {
		if time.Duration(at)*time.Second >= down {
			most = max(most, n)
		}
	}
	return most
}

func TestJitterSparesADownstreamThatComesBack(t *testing.T) {
	without, with := attempts(backoff.Exponential), attempts(backoff.FullJitter)
	if without == nil || with == nil {
		t.Fatal("a task was given up")
	}
	if a, b := peak(without), peak(with); a != herd || b*atMost > a || b == 0 {
		t.Errorf("peaks of %d attempts a second without jitter and %d with it, want at most 1/%d", a, b, atMost)
	}
	golden.Equal(t, "retries.svg", draw(without, with))
}

// draw makes two panels over one axis of time.
func draw(without, with []int) []byte {
	const (
		width, panel, left, top = 720, 150, 60, 40
		scale                   = float64(width-left-20) / drawn
	)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img">`+"\n", width, 2*(panel+top)+40)
	fmt.Fprintf(&b, "<title>Attempts per second of %d tasks against one downstream that is down for %v: without jitter, and with full jitter</title>\n", herd, down)
	fmt.Fprintln(&b, `<style>text{fill:#222} .bar{fill:#2b6cb0} .down{fill:#eee} .axis{stroke:#888} @media(prefers-color-scheme:dark){text{fill:#ddd} .down{fill:#333} .bar{fill:#63b3ed}}</style>`)
	for k, one := range []struct {
		name string
		all  []int
	}{{"without jitter", without}, {"with full jitter", with}} {
		base := (k+1)*(panel+top) - 10
		most := 0
		for _, n := range one.all {
			most = max(most, n)
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s: at most %d attempts a second once the downstream is back</text>`+"\n", left, base-panel-8, one.name, peak(one.all))
		fmt.Fprintf(&b, `<rect class="down" x="%d" y="%d" width="%.1f" height="%d"/>`+"\n", left, base-panel, scale*down.Seconds(), panel)
		for at, n := range one.all {
			if n > 0 {
				height := float64(n) / float64(most) * panel
				fmt.Fprintf(&b, `<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n", left+scale*float64(at), float64(base)-height, scale*0.9, height)
			}
		}
		fmt.Fprintf(&b, `<line class="axis" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", left, base, width-20, base)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%d</text><text x="%d" y="%d" text-anchor="end">0</text>`+"\n", left-6, base-panel+10, most, left-6, base)
	}
	bottom := 2 * (panel + top)
	for at := 0; at <= drawn; at += 30 {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%d s</text>`+"\n", left+scale*float64(at), bottom+8, at)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">the downstream is down</text>`+"\n", left+scale*down.Seconds()/2, bottom+26)
	b.WriteString("</svg>\n")
	return []byte(strings.ReplaceAll(b.String(), "\r", ""))
}
