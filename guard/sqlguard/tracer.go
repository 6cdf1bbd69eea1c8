package sqlguard

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"
)

// Tracer guards the pgx connections whose configuration contains it:
//
//	config.ConnConfig.Tracer = tracer
//
// It rejects a statement through the context that it returns. To combine it with other
// tracers, use pgx's multitracer.
type Tracer struct {
	judge *judge
}

var (
	_ pgx.QueryTracer   = (*Tracer)(nil)
	_ pgx.BatchTracer   = (*Tracer)(nil)
	_ pgx.PrepareTracer = (*Tracer)(nil)
)

// NewTracer returns a Tracer, or an error if config is invalid.
func NewTracer(config Config) (*Tracer, error) {
	config.Dialect = cmp.Or(config.Dialect, "postgres")
	j, err := config.checked("pgx")
	if err != nil {
		return nil, err
	}
	return &Tracer{judge: j}, nil
}

// TraceQueryStart implements pgx.QueryTracer.
func (t *Tracer) TraceQueryStart(ctx context.Context, c *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return t.check(ctx, c, data.SQL, data.Args)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t *Tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer. One rejected statement rejects the whole
// batch.
func (t *Tracer) TraceBatchStart(ctx context.Context, c *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		if checked := t.check(ctx, c, q.SQL, q.Arguments); checked.Err() != nil {
			return checked
		}
	}
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (t *Tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (t *Tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TracePrepareStart implements pgx.PrepareTracer. It skips statements that pgx prepares for
// a query, because they were judged with the query.
func (t *Tracer) TracePrepareStart(ctx context.Context, _ *pgx.Conn, data pgx.TracePrepareStartData) context.Context {
	if ctx.Value(inQuery{}) != nil {
		return ctx
	}
	t.judge.remember(data.Name, data.SQL)
	if err := t.judge.askPrepared(ctx, data.SQL, nil); err != nil {
		return refused{ctx, err}
	}
	return ctx
}

// TracePrepareEnd implements pgx.PrepareTracer.
func (t *Tracer) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

// inQuery marks the context of a judged statement.
type inQuery struct{}

func (t *Tracer) check(ctx context.Context, c *pgx.Conn, query string, args []any) context.Context {
	if ctx.Err() != nil {
		return ctx
	}
	query, args, err := rewritten(ctx, c, query, args)
	if err != nil {
		return ctx // pgx reports the same error with more detail
	}
	if text, ok := t.judge.lookup(query); ok {
		query = text
	}
	if err := t.judge.askPrepared(ctx, query, args); err != nil {
		return refused{ctx, err}
	}
	return context.WithValue(ctx, inQuery{}, true)
}

// rewritten removes pgx's options from the arguments, and applies a rewriter such as
// NamedArgs first.
func rewritten(ctx context.Context, c *pgx.Conn, query string, args []any) (string, []any, error) {
	var rewriter pgx.QueryRewriter
	for len(args) > 0 {
		switch a := args[0].(type) {
		case pgx.QueryResultFormats, pgx.QueryResultFormatsByOID, pgx.QueryExecMode:
		case pgx.QueryRewriter:
			rewriter = a
		default:
			if rewriter != nil {
				return rewriter.RewriteQuery(ctx, c, query, args)
			}
			return query, args, nil
		}
		args = args[1:]
	}
	if rewriter != nil {
		return rewriter.RewriteQuery(ctx, c, query, args)
	}
	return query, args, nil
}

// refused is a context that has ended because of the guard. pgx checks it before it sends
// anything, and wraps its error.
type refused struct {
	context.Context //nolint:containedctx // it is one itself
	err             error
}

func (r refused) Err() error { return r.err }

// Done returns a closed channel.
func (r refused) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
