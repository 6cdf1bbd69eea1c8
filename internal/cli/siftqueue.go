package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/process/rowfeed"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/sift"
)

// queueLetters sends letters to the dead-letter queue of a queue of a running Bezoar.
type queueLetters struct {
	ctx   context.Context //nolint:containedctx // lives exactly as long as the command
	api   *adminapi.Client
	queue string
	input string
}

// queueSink connects, and makes the queue if it does not exist.
func (c *siftCmd) queueSink(ctx context.Context, s *session, name string) (rowfeed.Sink, error) {
	api, err := c.client(s)
	if err != nil {
		return nil, err
	}
	_, err = api.Queue(ctx, name)
	if codeOf(err) == exitNotFound {
		_, err = api.CreateQueue(ctx, adminapi.CreateQueue{Name: name})
	}
	if err != nil {
		api.Close()
		return nil, err
	}
	// A letter that was found before a signal came is still sent.
	return &queueLetters{ctx: context.WithoutCancel(ctx), api: api, queue: name, input: c.Input}, nil
}

// Put sends letters. A letter that is sent again within the queue's window is not stored twice.
func (q *queueLetters) Put(letters []rowfeed.Letter) error {
	for _, l := range letters {
		f := sift.Failure{Type: l.Type, Reason: l.Reason, Frame: l.Frame, Detail: l.Detail}
		part := adminapi.Part{
			Body: l.Body(),
			Attributes: map[string]string{
				"BezoarRow": strconv.Itoa(l.Row), "BezoarLine": strconv.Itoa(l.Line), "BezoarRuns": strconv.Itoa(l.Runs),
			},
			Outcome: queue.Outcome{Class: l.Class, Failure: l.Fingerprint, Reason: f.String(), Detail: l.Detail, Stderr: l.Stderr},
			Once:    l.ID,
		}
		if name := strings.ToValidUTF8(q.input, "�"); name != "" {
			part.Attributes["BezoarInput"] = name
		}
		sent, err := q.api.SetAside(q.ctx, q.queue, []adminapi.Part{part})
		if err == nil && len(sent) == 1 && sent[0].Error != "" {
			err = fmt.Errorf("the queue refuses it: %s", sent[0].Error)
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", l.Row, err)
		}
	}
	return nil
}

func (q *queueLetters) Close() error {
	q.api.Close()
	return nil
}
