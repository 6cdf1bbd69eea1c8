package outboxdemo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Run runs the three ways and writes the report. It returns an error if a step failed, or
// if the outbox broke its guarantee.
func Run(ctx context.Context, c Config) (Report, error) {
	c = c.withDefaults()
	if err := c.Validate(); err != nil {
		return Report{}, err
	}
	r := Report{Asked: c.Orders, Database: "SQLite"}
	if c.Database != "" {
		r.Database = "PostgreSQL"
	}
	for _, way := range []Way{WriteSend, SendWrite, Outbox} {
		fmt.Fprintf(c.Err, "%s: %d orders, %d crashes\n", way, c.Orders, c.Crashes)
		began := time.Now()
		one, err := c.show(ctx, way)
		if err != nil {
			return r, fmt.Errorf("%s: %w", way, err)
		}
		one.Took = time.Since(began)
		r.Ways = append(r.Ways, one)
	}
	if err := r.write(c.Out, c.JSON); err != nil {
		return r, err
	}
	if !r.Held() {
		return r, errors.New("the outbox lost, invented or reordered events: this is a bug in Bezoar")
	}
	return r, nil
}

// show runs the orders in one way.
func (c Config) show(ctx context.Context, way Way) (_ Result, err error) {
	ground, err := c.open(ctx)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, ground.close()) }()
	p := newPlace()
	url, stop, err := p.serve(ctx)
	if err != nil {
		return Result{}, err
	}
	defer stop()
	t := task{Way: way, Database: ground.url, Schema: ground.schema, Place: url, To: c.Orders}
	out := Result{Way: way}
	if way != Outbox {
		out.Crashes, err = c.sell(ctx, t)
	} else {
		out.Crashes, out.RelayCrashes, err = c.sellAndRelay(ctx, t, p, ground)
	}
	if err != nil {
		return out, err
	}
	return out, ground.count(ctx, p, &out)
}

// count compares the table with the received events.
func (g *ground) count(ctx context.Context, p *place, out *Result) error {
	rows, err := g.db.QueryContext(ctx, selectOrders)
	if err != nil {
		return fmt.Errorf("count the orders: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	p.mu.Lock()
	defer p.mu.Unlock()
	out.Events, out.Twice, out.Late = len(p.ids), p.twice, p.late
	out.Invented = len(p.orders)
	for rows.Next() {
		var order int
		if err := rows.Scan(&order); err != nil {
			return fmt.Errorf("count the orders: %w", err)
		}
		out.Orders++
		if p.orders[order] {
			out.Invented--
		} else {
			out.Lost++
		}
	}
	return rows.Err()
}

// sell runs the application until every order was requested, and returns the number of
// crashes. The order that a crash interrupts is not repeated: its customer has left.
func (c Config) sell(ctx context.Context, t task) (crashes int, err error) {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(len(t.Way))))
	points := t.Way.points()
	each := c.Orders / c.Crashes
	for t.From = 1; t.From <= t.To; {
		t.Crash, t.Point = 0, ""
		if crashes < c.Crashes {
			t.Crash, t.Point = crashes*each+1+rng.IntN(each), points[crashes%len(points)]
		}
		killed, err := c.run(ctx, t)
		if err != nil {
			return crashes, err
		}
		if !killed {
			return crashes, nil
		}
		crashes++
		t.From = t.Crash + 1
	}
	return crashes, nil
}

// run runs one child until it exits, and reports whether it killed itself.
func (c Config) run(ctx context.Context, t task) (killed bool, err error) {
	text, err := json.Marshal(t)
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, c.Command[0], c.Command[1:]...) //nolint:gosec // the caller's own program
	cmd.Env = append(os.Environ(), Variable+"="+string(text))
	stdin, err := cmd.StdinPipe() // its end tells the child that this process has exited
	if err != nil {
		return false, err
	}
	defer stdin.Close()
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return false, err
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err == nil:
		return false, nil
	case errors.As(err, &exit) && signalOf(exit) == syscall.SIGKILL && t.Crash > 0:
		return true, nil
	}
	return false, fmt.Errorf("the child ended with %w: %s", err, strings.TrimSpace(said.String()))
}

func signalOf(exit *exec.ExitError) syscall.Signal {
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal()
	}
	return 0
}
