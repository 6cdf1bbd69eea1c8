package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/triage"
)

type dlqEdit struct {
	remote
	ID string `arg:"" optional:"" help:"The letter's ID, or a unique prefix."`
	newBody
	Attr   map[string]string `name:"attribute" short:"a" mapsep:"none" placeholder:"NAME=VALUE" help:"Set an attribute of type String. May be repeated."`
	From   string            `placeholder:"FILE" help:"Edit many: read changed letters from this file, as dlq export writes them; - for stdin. Unchanged letters stay where they are."`
	DryRun bool              `help:"With --from: show what would change, and change nothing."`
	To     string            `placeholder:"QUEUE" help:"Send it to this queue instead of where it came from."`
	Reason string            `placeholder:"TEXT" help:"Reason, for the audit log."`
	Print  bool              `help:"Print the letter's body and version, and change nothing."`
}

func (c *dlqEdit) Run(s *session, api *adminapi.Client) error {
	switch {
	case c.From != "" && (c.ID != "" || c.Body != nil || c.File != "" || len(c.Attr) > 0 || c.Print):
		return exitf(exitUsage, "--from contains the letters and their changes: give no ID, --body, --file, --attribute or --print with it")
	case c.From == "" && c.ID == "":
		return hinted(exitf(exitUsage, "no letter is named"), "give its ID, or many with --from")
	case c.From == "" && c.DryRun:
		return exitf(exitUsage, "--dry-run goes with --from")
	}
	if c.From != "" {
		return c.many(s, api)
	}
	return c.one(s, api)
}

func (c *dlqEdit) one(s *session, api *adminapi.Client) error {
	id, err := letterID(s, api, c.ID)
	if err != nil {
		return err
	}
	l, err := api.DeadLetter(s, id)
	if err != nil {
		return err
	}
	if c.Print {
		_, err := s.Stdout.Write(bodyBytes(l.Body))
		return err
	}
	e := triage.Edit{Version: l.Version, Destination: c.To, Reason: c.Reason}
	raw, err := c.read(s, maxLine)
	if err != nil {
		return err
	}
	if raw != nil {
		e.Body = triage.NewBody(raw)
	}
	if len(c.Attr) > 0 {
		e.Attributes = l.Attributes
		if e.Attributes == nil {
			e.Attributes = map[string]triage.Attribute{}
		}
		for name, value := range c.Attr {
			e.Attributes[name] = triage.Attribute{Type: "String", Value: value}
		}
	}
	if e.Body == nil && e.Attributes == nil && c.To == "" {
		return hinted(exitf(exitUsage, "nothing is changed"), "--body, --file, --attribute or --to change it; bezoar dlq redrive sends it as it is")
	}
	edited, err := api.Edit(s, id, e)
	return s.show(edited, err, func() { s.out.printf("%s is in %s in its place\n", clean(edited.ID), clean(edited.Destination)) })
}

// editedMany is the result of editing the letters of --from.
type editedMany struct {
	Edited    []triage.Edited `json:"edited"`
	Unchanged int             `json:"unchanged"`
	Failed    []failedEdit    `json:"failed,omitempty"`
	DryRun    bool            `json:"dry_run,omitempty"`
}

type failedEdit struct {
	Line   int    `json:"line"`
	Letter string `json:"letter,omitempty"`
	Error  string `json:"error"`
}

// many edits the letters of a file, each in a separate transaction. A letter that cannot be edited does not stop the
// others.
func (c *dlqEdit) many(s *session, api *adminapi.Client) error {
	in, err := s.input(c.From)
	if err != nil {
		return fmt.Errorf("read the changed letters: %w", err)
	}
	defer in.Close()
	done := editedMany{Edited: []triage.Edited{}, DryRun: c.DryRun}
	lines := json.NewDecoder(in)
	for n := 1; ; n++ {
		var l triage.Letter
		err := lines.Decode(&l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return hinted(fmt.Errorf("letter %d of %s: %w", n, c.From, err), "bezoar dlq export writes such letters; of those before it %s", done.text())
		}
		edited, err := c.changed(s, api, l)
		switch {
		case err != nil && s.Err() != nil:
			return err
		case err != nil:
			done.Failed = append(done.Failed, failedEdit{n, l.ID, err.Error()})
			s.say("letter %d, %s: %v", n, clean(l.ID), err)
		case edited == nil:
			done.Unchanged++
		default:
			done.Edited = append(done.Edited, *edited)
		}
	}
	return done.report(s)
}

// changed edits a letter if it differs from the stored one. It returns nil if it does not differ.
func (c *dlqEdit) changed(s *session, api *adminapi.Client, l triage.Letter) (*triage.Edited, error) {
	if l.ID == "" || l.Version == "" {
		return nil, errors.New("it has no id or no version")
	}
	was, err := api.DeadLetter(s, l.ID)
	if err != nil {
		return nil, err
	}
	e := triage.Edit{Version: l.Version, Destination: c.To, Reason: c.Reason}
	if l.Body != nil && !bytes.Equal(bodyBytes(l.Body), bodyBytes(was.Body)) {
		e.Body = triage.NewBody(bodyBytes(l.Body))
	}
	if !maps.EqualFunc(l.Attributes, was.Attributes, func(a, b triage.Attribute) bool { return reflect.DeepEqual(a, b) }) {
		e.Attributes = l.Attributes
		if e.Attributes == nil {
			e.Attributes = map[string]triage.Attribute{}
		}
	}
	if e.Body == nil && e.Attributes == nil && c.To == "" {
		return nil, nil
	}
	if c.DryRun {
		return &triage.Edited{Letter: l.ID, Destination: c.To}, nil
	}
	edited, err := api.Edit(s, l.ID, e)
	return &edited, err
}

func (m *editedMany) report(s *session) error {
	if err := s.show(m, nil, func() { s.out.printf("%s\n", m.text()) }); err != nil {
		return err
	}
	switch {
	case len(m.Failed) == 0:
		return nil
	case len(m.Edited) == 0:
		return exitf(exitFailure, "none of %d changed letters was edited", len(m.Failed))
	}
	return exitf(exitPartly, "%d of %d changed letters were not edited", len(m.Failed), len(m.Failed)+len(m.Edited))
}

func (m *editedMany) text() string {
	verb := "edited"
	if m.DryRun {
		verb = "would be edited"
	}
	return fmt.Sprintf("%d %s %s, %d unchanged, %d failed", len(m.Edited), plural(len(m.Edited), "letter", "letters"), verb, m.Unchanged, len(m.Failed))
}
