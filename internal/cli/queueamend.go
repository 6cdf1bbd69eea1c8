package cli

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// newBody holds the flags for a new body.
type newBody struct {
	Body *string `placeholder:"TEXT" help:"The new body."`
	File string  `short:"f" placeholder:"FILE" help:"Read the new body from this file; - for stdin."`
}

// read returns nil if no body is given. A file has at most most bytes.
func (c *newBody) read(s *session, most int) (raw []byte, err error) {
	switch {
	case c.Body != nil && c.File != "":
		return nil, exitf(exitUsage, "give --body or --file, not both")
	case c.Body != nil:
		return []byte(*c.Body), nil
	case c.File == "":
		return nil, nil
	}
	in, err := s.input(c.File)
	if err != nil {
		return nil, fmt.Errorf("read the new body: %w", err)
	}
	defer in.Close()
	err = whole(in, most, func(b []byte) error { raw = b; return nil })
	return raw, err
}

type queueEdit struct {
	remote
	Name     string `arg:"" help:"The queue's name."`
	Sequence int64  `arg:"" help:"The message's sequence number, as queue peek lists it."`
	newBody
	Attr   map[string]string `name:"attribute" short:"a" mapsep:"none" placeholder:"NAME=VALUE" help:"Set an attribute of type String. May be repeated."`
	Reason string            `placeholder:"TEXT" help:"Reason, for the audit log."`
}

func (c *queueEdit) Run(s *session, api *adminapi.Client) error {
	body, err := c.read(s, maxLine)
	if err != nil {
		return err
	}
	if len(body) == 0 && len(c.Attr) == 0 {
		return hinted(exitf(exitUsage, "nothing is changed"), "--body, --file or --attribute to change it; bezoar queue delete deletes it")
	}
	out, err := api.EditMessage(s, c.Name, c.Sequence, adminapi.EditMessage{Body: body, Attributes: c.Attr, Reason: c.Reason})
	return amended(s, "edited", out, err)
}

type queueDelete struct {
	remote
	Name     string `arg:"" help:"The queue's name."`
	Sequence int64  `arg:"" help:"The message's sequence number, as queue peek lists it."`
	Force    bool   `help:"Delete it even if it is in flight. Its worker goes on with it."`
	Reason   string `placeholder:"TEXT" help:"Reason, for the audit log."`
}

func (c *queueDelete) Run(s *session, api *adminapi.Client) error {
	out, err := api.DeleteMessage(s, c.Name, c.Sequence, c.Force, c.Reason)
	return amended(s, "deleted", out, err)
}

func amended(s *session, done string, out adminapi.Amended, err error) error {
	return s.show(out, err, func() { s.out.printf("%s %s\n", clean(out.ID), done) })
}
