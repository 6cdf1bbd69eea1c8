package sqs

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

const (
	typeJSON      = "application/x-amz-json-1.0"
	typeXML       = "text/xml"
	namespace     = "http://queue.amazonaws.com/doc/2012-11-05/"
	writePatience = 30 * time.Second
	undoPatience  = 5 * time.Second
)

func (e *encoder) begin(op string, answers bool) {
	if !e.xml {
		if answers {
			e.buf = append(e.buf, '{')
		}
		return
	}
	e.buf = append(e.buf, `<?xml version="1.0"?><`...)
	e.buf = append(e.buf, op...)
	e.buf = append(e.buf, `Response xmlns="`+namespace+`">`...)
	if answers {
		e.open(op + "Result")
	}
}

// end ends it. In JSON, operations without an answer have an empty body, as on AWS.
func (e *encoder) end(op string, answers bool, id string) {
	if !e.xml {
		if answers {
			e.buf = append(e.buf, '}')
		}
		return
	}
	if answers {
		e.close(op + "Result")
	}
	e.open("ResponseMetadata")
	e.plain("RequestId", id)
	e.close("ResponseMetadata")
	e.close(op + "Response")
}

// fault replaces the answer with an error.
func (e *encoder) fault(f *fault, id string) {
	e.buf = e.buf[:0]
	if !e.xml {
		e.buf = append(e.buf, '{')
		e.text("__type", f.space+f.modern)
		e.text("message", f.message)
		e.buf = append(e.buf, '}')
		return
	}
	blame, message := "Sender", f.message
	if !f.sender() {
		blame = "Receiver"
	}
	if f.code == queueMissing {
		message = "The specified queue does not exist for this wsdl version."
	}
	e.buf = append(e.buf, `<?xml version="1.0"?><ErrorResponse xmlns="`+namespace+`"><Error>`...)
	e.plain("Type", blame)
	e.text("Code", f.legacy)
	e.text("Message", message)
	e.buf = append(e.buf, `<Detail/></Error>`...)
	e.plain("RequestId", id)
	e.close("ErrorResponse")
}

// refuse answers with an error.
func (c *call) refuse(f *fault) {
	c.out.xml = c.r.Header.Get("X-Amz-Target") == ""
	c.out.fault(f, c.id)
	header := c.w.Header()
	blame := ";Sender"
	if !f.sender() {
		blame = ";Receiver"
	}
	header.Set("X-Amzn-Query-Error", f.legacy+blame)
	if f.retry > 0 {
		retryAfter(header, f.retry)
	}
	c.reply(f.status)
}

// reply writes the answer. If the caller is gone, messages in the answer go back to the queue.
func (c *call) reply(status int) {
	caller := c.r.Context()
	if len(c.given) > 0 && (caller.Err() != nil || left(caller)) {
		c.undo(context.Canceled)
		return
	}
	header := c.w.Header()
	kind := typeJSON
	if c.out.xml {
		kind = typeXML
	}
	header["Content-Type"] = []string{kind}
	header["Content-Length"] = []string{strconv.Itoa(len(c.out.buf))}
	header["X-Amzn-Requestid"] = []string{c.id}
	control := http.NewResponseController(c.w)
	_ = control.SetWriteDeadline(time.Now().Add(writePatience)) // not every writer can
	c.w.WriteHeader(status)
	_, err := c.w.Write(c.out.buf)
	if len(c.given) == 0 {
		return
	}
	if err == nil {
		err = control.Flush()
	}
	if err != nil {
		c.undo(err)
		return
	}
	if c.byName {
		return
	}
	received(caller) // even if it has closed the connection since: it may have read everything
}

// undo returns messages to the queue that the caller will not receive.
func (c *call) undo(why error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), undoPatience)
	defer cancel()
	_, err := c.h.engine.Unreceive(ctx, c.queue.Name, c.given)
	c.h.log.Debug("SQS caller was gone: messages given back",
		"queue", c.queue.Name, "messages", len(c.given), "request", c.id, "why", why, "error", err)
}
