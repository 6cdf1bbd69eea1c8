package cli

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/bezoar-dev/bezoar/internal/flow/flowdraw"
	"github.com/bezoar-dev/bezoar/internal/flow/flowfile"
)

type flowValidateCmd struct {
	File []string `arg:"" name:"file" help:"The flow files."`
}

// Help is shown below the flags.
func (flowValidateCmd) Help() string {
	return "The command lists every fault with file, line, column and fix. It runs nothing.\n\nExample: bezoar flow validate flows/*.yaml"
}

// validated is what --json prints.
type validated struct {
	File  string `json:"file"`
	Flow  string `json:"flow,omitempty"`
	Tasks int    `json:"tasks,omitempty"`
	Error string `json:"error,omitempty"`
}

// Run checks files.
func (c *flowValidateCmd) Run(s *session) error {
	all := make([]validated, 0, len(c.File))
	err := each(s, c.File, func(file string) error {
		d, err := flowfile.Load(file)
		if err != nil {
			all = append(all, validated{File: file, Error: err.Error()})
			return flowFileError(err)
		}
		all = append(all, validated{File: file, Flow: d.Name, Tasks: len(d.Tasks)})
		if !s.json {
			s.out.printf("%s: ok: %s, %s\n", clean(file), clean(d.Name), count(int64(len(d.Tasks)), "task", "tasks"))
		}
		return nil
	})
	if !s.json {
		return err
	}
	if failed := s.out.json(map[string]any{"files": all}); failed != nil {
		return fmt.Errorf("write: %w", failed)
	}
	return err
}

// flowFileError gives a flow file that cannot be read or has faults its exit code,
// which is that of a settings file.
func flowFileError(err error) error {
	if errors.Is(err, syscall.EISDIR) {
		return &exitError{code: exitUsage, err: err}
	}
	return err
}

type flowGraphCmd struct {
	Format string `short:"f" enum:"text,mermaid,svg" default:"text" help:"text (default), mermaid or svg."`
	File   string `arg:"" name:"file" help:"The flow file."`
}

// Run draws a file.
func (c *flowGraphCmd) Run(s *session) error {
	d, err := flowfile.Load(c.File)
	if err != nil {
		return flowFileError(err)
	}
	switch c.Format {
	case "mermaid":
		s.out.printf("%s", flowdraw.Mermaid(d, flowdraw.Look{}))
	case "svg":
		drawing, err := flowdraw.SVG(d, flowdraw.Look{})
		if err != nil {
			return err
		}
		s.out.printf("%s", drawing)
	default:
		s.out.printf("%s", flowdraw.Text(d, flowdraw.Look{}))
	}
	return nil
}
