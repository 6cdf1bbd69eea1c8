package config

import "testing"

func TestShowCallers(t *testing.T) {
	log := func(caller string) *AccessLog { return &AccessLog{Caller: caller} }
	for _, c := range []struct {
		client string
		route  string
		all    string
		log    *AccessLog
		want   string
	}{
		{client: "", want: ShowClear}, // by their addresses
		{client: "ip", want: ShowClear},
		{client: "jwt:sub", want: ShowClear},
		{client: "jwt:tenant+ip", want: ShowClear},
		{client: "header:X-Api-Key", want: ShowLabel},
		{client: "ip+header:X-Api-Key", want: ShowLabel},
		{client: "header:X-Api-Key", log: log(ShowHash), want: ShowLabel}, // it is the default, and about the log
		{client: "header:X-Api-Key", log: log(ShowClear), want: ShowClear},
		{client: "ip", log: log(ShowOff), want: ShowOff},
		{client: "ip", all: ShowHash, log: log(ShowOff), want: ShowHash},
		{client: "ip", all: ShowHash, route: ShowLabel, log: log(ShowOff), want: ShowLabel},
	} {
		cfg := Config{Callers: &Callers{Show: c.all}, AccessLog: c.log}
		r := Route{Client: c.client, Callers: &RouteCallers{Show: c.route}}
		if got := cfg.ShowCallers(&r); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
