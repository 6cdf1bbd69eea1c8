package cdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

var (
	errEnded  = errors.New("the server has ended replication; it stops, or is a standby now")
	errSilent = errors.New("the server does not answer")
)

const heartbeatPrefix = "bezoar.heartbeat"

// Stream reads one slot over one connection.
type Stream struct {
	c        Config
	conn     net.Conn
	front    *pgproto3.Frontend
	pid      uint32 // server process
	timeout  time.Duration
	track    tracker
	received atomic.Uint64 // LSN
	waiting  atomic.Int64  // since when the stream waits for a message, in ns; 0: the receiver works
	beaten   atomic.Int64  // time of the last heartbeat that came back, in ns
	gate     atomic.Uint64 // LSN up to which positions may be confirmed; 0: no limit
	reply    chan struct{} // the server asked for a report

	relations map[uint32]*Relation
	open      bool      // inside a transaction
	marked    time.Time // last time the receiver heard of WAL without changes for it
}

func newStream(c Config, raw *pgconn.HijackedConn, position LSN, timeout time.Duration) *Stream {
	s := &Stream{
		c: c, conn: raw.Conn, front: raw.Frontend, pid: raw.PID, timeout: timeout,
		reply: make(chan struct{}, 1), relations: map[uint32]*Relation{},
	}
	s.track.confirmed = position
	s.received.Store(uint64(position))
	s.beaten.Store(time.Now().UnixNano())
	return s
}

// Run passes the slot's transactions to r until ctx ends or an error occurs. It closes the
// connection.
func (s *Stream) Run(ctx context.Context, r Receiver) error {
	ctx, cancel := context.WithCancelCause(ctx)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.answer(ctx, cancel)
	}()
	err := s.read(ctx, r)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(err)
	<-answered
	return err
}

func (s *Stream) read(ctx context.Context, r Receiver) error {
	var deadline time.Time
	for {
		if due := r.Due(); !due.Equal(deadline) {
			if err := s.conn.SetReadDeadline(due); err != nil {
				return err
			}
			deadline = due
		}
		s.waiting.Store(time.Now().UnixNano())
		m, err := s.front.Receive()
		s.waiting.Store(0)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			err = r.Flush(ctx)
		case err == nil:
			err = s.message(ctx, m, r)
		}
		if err != nil {
			return err
		}
	}
}

func (s *Stream) message(ctx context.Context, m pgproto3.BackendMessage, r Receiver) error {
	switch m := m.(type) {
	case *pgproto3.CopyData:
		return s.data(ctx, m.Data, r)
	case *pgproto3.ErrorResponse:
		return pgconn.ErrorResponseToPgError(m)
	case *pgproto3.CopyDone:
		return errEnded
	}
	return nil // notices
}

func (s *Stream) data(ctx context.Context, b []byte, r Receiver) error {
	if len(b) == 0 {
		return errors.New("the server has sent an empty message")
	}
	switch b[0] {
	case pglogrepl.PrimaryKeepaliveMessageByteID:
		k, err := pglogrepl.ParsePrimaryKeepaliveMessage(b[1:])
		if err != nil {
			return err
		}
		s.advance(k.ServerWALEnd)
		if k.ReplyRequested {
			defer s.wake()
		}
		return s.mark(ctx, r, k.ServerWALEnd, k.ReplyRequested)
	case pglogrepl.XLogDataByteID:
		x, err := pglogrepl.ParseXLogData(b[1:])
		if err != nil {
			return err
		}
		s.advance(x.WALStart)
		if len(x.WALData) == 0 {
			return nil
		}
		return s.decode(ctx, x, r)
	}
	return nil
}

func (s *Stream) advance(to LSN) {
	if uint64(to) > s.received.Load() {
		s.received.Store(uint64(to))
	}
}

func (s *Stream) wake() {
	select {
	case s.reply <- struct{}{}:
	default:
	}
}

// mark reports WAL up to end that contains nothing for the receiver, if no transaction is
// in progress, so that this WAL can be confirmed too. It does so once per heartbeat,
// because the receiver may write to the database, which produces WAL again.
func (s *Stream) mark(ctx context.Context, r Receiver, end LSN, now bool) error {
	confirmed, idle := s.track.position()
	if s.open || !idle || end <= confirmed || !now && time.Since(s.marked) < s.c.Heartbeat {
		return nil
	}
	s.marked = time.Now()
	return r.Commit(ctx, end, s.track.add(end))
}

func (s *Stream) decode(ctx context.Context, x pglogrepl.XLogData, r Receiver) error {
	switch x.WALData[0] {
	case 'I', 'U', 'D':
		return s.change(ctx, x, r)
	}
	m, err := pglogrepl.Parse(x.WALData)
	if err != nil {
		return fmt.Errorf("read a message at %s: %w", x.WALStart, err)
	}
	switch m := m.(type) {
	case *pglogrepl.BeginMessage:
		s.open = true
		r.Begin(Transaction{Commit: m.FinalLSN, XID: m.Xid, Committed: m.CommitTime})
	case *pglogrepl.CommitMessage:
		s.open = false
		s.advance(m.TransactionEndLSN)
		return r.Commit(ctx, m.TransactionEndLSN, s.track.add(m.TransactionEndLSN))
	case *pglogrepl.RelationMessage:
		s.relations[m.RelationID] = relation(m)
	case *pglogrepl.LogicalDecodingMessage:
		if m.Prefix == heartbeatPrefix && string(m.Content) == s.c.Slot {
			s.beaten.Store(time.Now().UnixNano())
		}
		return s.mark(ctx, r, x.WALStart, false)
	}
	return nil // types, origins
}

func (s *Stream) change(ctx context.Context, x pglogrepl.XLogData, r Receiver) error {
	id, c, err := readChange(bytes.Clone(x.WALData)) // the connection reuses x's memory
	if err != nil {
		return fmt.Errorf("read a change at %s: %w", x.WALStart, err)
	}
	c.Relation = s.relations[id]
	if c.Relation == nil {
		return fmt.Errorf("the server sent no description of relation %d", id)
	}
	return r.Change(ctx, c)
}

func relation(m *pglogrepl.RelationMessage) *Relation {
	r := &Relation{Schema: m.Namespace, Name: m.RelationName, Columns: make([]Column, len(m.Columns))}
	for i, c := range m.Columns {
		r.Columns[i] = Column{Name: c.Name, Type: c.DataType, Key: c.Flags&1 != 0}
	}
	return r
}
