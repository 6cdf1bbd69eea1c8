package sqs_test

import (
	"net"
	"testing"
	"time"
)

// A call on an idle connection that comes when the server has been told to end is
// answered, if there is a last call.
func TestLastCallAnswersIdleConnections(t *testing.T) {
	s := serve(t, nil)
	s.server.LastCall(time.Minute)
	old := s.dial()
	s.write(old, "ListQueues", `{}`)
	s.read(old)
	s.stop()
	for { // until nobody else comes
		c, err := net.Dial("tcp", old.RemoteAddr().String())
		if err != nil {
			break
		}
		_ = c.Close()
	}
	s.write(old, "ListQueues", `{}`)
	if status, body := s.read(old); status != 200 {
		t.Errorf("got %d %s", status, body)
	}
	_ = old.Close()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	s.done <- nil
}
