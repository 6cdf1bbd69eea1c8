package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// settings reports settings that are allowed but risky.
func (e *examination) settings(context.Context) {
	c := &e.Settings
	before := len(e.found)
	for _, w := range c.Warnings() {
		e.warn("settings", "bezoar config check explains it", "%s", w)
	}
	e.warnIf(c.Store == config.MemoryStore, "settings", "store: sqlite:bezoar.db keeps them", "store: memory: forgets verdicts, queues and dead letters when Bezoar ends")
	e.warnIf(c.Admin != "" && open(c.Admin), "settings", "keep admin on 127.0.0.1, behind a proxy that speaks TLS", "admin: %s sends the admin token over a network without TLS", c.Admin)
	e.warnIf(c.SQSTLS == nil && len(c.AccessKeys) > 0 && open(c.SQS), "settings", "set sqs_tls", "sqs: %s sends messages over a network without TLS", c.SQS)
	e.warnIf(c.Admin == "", "settings", "admin: 127.0.0.1:7070 brings them back", "there is no admin address: no console, no metrics, no commands")
	e.warnIf(c.Health.Disk == 0, "settings", "remove health.disk to have the default", "health.disk is off: no alarm comes when the disk fills up")
	e.routes()
	if len(e.found) == before {
		from := e.File
		from = cmp.Or(from, "the defaults, without a file")
		e.ok("settings", "%s: nothing is risky", from)
	}
}

func (e *examination) routes() {
	for i, r := range e.Settings.Routes {
		at := fmt.Sprintf("routes[%d]", i)
		if r.Match.Path != "" {
			at += " (" + r.Match.Path + ")"
		}
		if !r.Works() {
			continue
		}
		e.warnIf(r.Quarantine.Off, "settings", "remove quarantine: off", "%s: quarantine is off: requests that kill workers are never refused", at)
		e.warnIf(r.Retry.Replay == config.ReplayAll, "settings", "retry.replay: idempotent repeats only what is safe", "%s: retry.replay: all repeats POST and PATCH, which can take effect twice", at)
	}
}

// open reports whether other machines can reach an address.
func open(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || host == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err != nil || !ip.IsLoopback()
}

// address is an address of Bezoar, and the setting that names it.
type address struct{ key, addr string }

func (e *examination) addresses() []address {
	c := &e.Settings
	var out []address
	add := func(key, addr string) {
		if addr != "" && addr != "off" && !strings.HasSuffix(addr, ":0") {
			out = append(out, address{key, addr})
		}
	}
	if len(c.Routes) > 0 {
		add("listen", c.Listen)
		for i, l := range c.Listeners {
			add(fmt.Sprintf("listeners[%d]", i), l.Listen)
		}
		if c.TLS != nil {
			add("tls.redirect", c.TLS.Redirect)
		}
	}
	add("sqs", c.SQS)
	add("admin", c.Admin)
	return out
}

// fleets returns the names of the fleets, in order.
func (e *examination) fleets() []string {
	return slices.Sorted(maps.Keys(e.Settings.Fleets))
}
