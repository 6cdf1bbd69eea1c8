package cli

type flowValidateCmd struct {
	File []string `arg:"" name:"file" help:"The flow files."`
}

func (c *flowValidateCmd) Run(s *session) error { return nil }

type flowGraphCmd struct {
	File string `arg:"" name:"file" help:"The flow file."`
}

func (c *flowGraphCmd) Run(s *session) error { return nil }
