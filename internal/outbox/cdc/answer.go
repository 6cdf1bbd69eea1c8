package cdc

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgproto3"
)

const (
	answerEvery  = time.Second      // interval between position reports to the server
	answerWithin = 10 * time.Second // time limit for sending one report
	silence      = time.Minute      // time limit for the server's silence before the stream fails
)

// answer reports to the server which position is durable, also while the receiver works,
// because a server closes the connection of a silent reader. When ctx ends, answer reports
// once more and closes the connection, which ends reading.
func (s *Stream) answer(ctx context.Context, end context.CancelCauseFunc) {
	every := answerEvery
	if s.timeout > 0 {
		every = min(every, s.timeout/8)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	defer s.conn.Close()
	for {
		select {
		case <-tick.C:
		case <-s.reply:
		case <-ctx.Done():
			_ = s.send(false) // the server sends unconfirmed data again
			if b, err := (&pgproto3.Terminate{}).Encode(nil); err == nil {
				_, _ = s.conn.Write(b)
			}
			return
		}
		quiet := s.quiet()
		if quiet > silence {
			end(errSilent)
			continue
		}
		if err := s.send(quiet > silence/2); err != nil {
			end(err)
		}
	}
}

// quiet returns how long the server has been silent while the stream was reading.
func (s *Stream) quiet() time.Duration {
	since := s.waiting.Load()
	if since == 0 {
		return 0
	}
	return time.Duration(time.Now().UnixNano() - since)
}

// send sends all three positions. The server would take a zero position for the start of
// the WAL.
func (s *Stream) send(wantReply bool) error {
	confirmed, _ := s.track.position()
	received := max(LSN(s.received.Load()), confirmed)
	if gate := LSN(s.gate.Load()); gate != 0 {
		confirmed = min(confirmed, gate)
	}
	if confirmed == 0 {
		return nil
	}
	b := make([]byte, 0, 34)
	b = append(b, pglogrepl.StandbyStatusUpdateByteID)
	b = binary.BigEndian.AppendUint64(b, uint64(received))
	b = binary.BigEndian.AppendUint64(b, uint64(confirmed)) // flushed
	b = binary.BigEndian.AppendUint64(b, uint64(confirmed)) // applied
	b = binary.BigEndian.AppendUint64(b, uint64(time.Since(postgresEpoch()).Microseconds()))
	if wantReply {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b, err := (&pgproto3.CopyData{Data: b}).Encode(nil)
	if err != nil {
		return err
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(answerWithin)); err != nil {
		return err
	}
	_, err = s.conn.Write(b)
	return err
}

// postgresEpoch is the origin of the protocol's timestamps.
func postgresEpoch() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }
