package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/cli/starter"
)

type initCmd struct {
	File  string `arg:"" optional:"" default:"bezoar.yaml" help:"The file to write (default ${default}); - for stdout."`
	Force bool   `help:"Replace the file if it exists."`
}

// Help is shown below the flags.
func (initCmd) Help() string {
	return "The command looks for Procfile, manage.py, package.json, config.ru, an application in Python, go.mod and Dockerfile in this folder, " +
		"and writes settings for the first that it finds."
}

func (c *initCmd) Run(s *session) error {
	g, err := starter.Look(os.DirFS("."))
	if err != nil {
		return fmt.Errorf("look at this folder: %w", err)
	}
	if c.File == "-" {
		s.out.printf("%s", g.File())
		return nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if c.Force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	if err := write(c.File, flags, g.File()); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return hinted(exitf(exitUsage, "%s exists already", c.File), "bezoar init --force replaces it")
		}
		return hinted(fmt.Errorf("write the settings: %w", err), "go to a folder that you may write to, or print them: bezoar init -")
	}
	return s.show(map[string]any{"file": c.File, "command": g.Command, "from": g.From}, nil, func() {
		found := "nothing in this folder says how your server is started; edit the command in " + c.File
		if g.From != "" {
			found = fmt.Sprintf("the command is from %s: %s", g.From, clean(strings.Join(g.Command, " ")))
		}
		s.out.printf("%s written: %s\n", c.File, found)
		if g.Before != "" {
			s.out.printf("build it first: %s\n", g.Before)
		}
		s.out.printf("next: bezoar serve -c %s\n", c.File)
	})
}

func write(path string, flags int, data []byte) error {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
