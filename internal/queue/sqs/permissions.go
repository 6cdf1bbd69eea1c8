package sqs

import (
	"encoding/json"
	"slices"

	"github.com/bezoar-dev/bezoar/queue"
)

// policy is the document in the attribute Policy. Parts that this package does not know are kept.
type policy struct {
	Version   string            `json:"Version"`
	ID        string            `json:"Id,omitempty"`
	Statement []json.RawMessage `json:"Statement"`
}

type statement struct {
	Sid       string    `json:"Sid"`
	Effect    string    `json:"Effect"`
	Principal principal `json:"Principal"`
	Action    any       `json:"Action"`
	Resource  string    `json:"Resource"`
}

type principal struct {
	AWS any `json:"AWS"`
}

// one returns the only element, or the list.
func one(list []string) any {
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func sid(raw json.RawMessage) string {
	var s struct {
		Sid string `json:"Sid"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s.Sid
}

func (c *call) addPermission() error {
	r := &c.req
	switch {
	case !validID(r.Label):
		return invalid(r.Label, "Label", "It can have letters, digits, hyphens and underscores, 1 to 80 of them.")
	case len(r.Accounts) == 0:
		return absent("AWSAccountId")
	case len(r.Actions) == 0:
		return absent("ActionName")
	}
	s := statement{Sid: r.Label, Effect: "Allow", Resource: c.arn(c.queue.Name)}
	var accounts, actions []string
	for _, id := range r.Accounts {
		if !accountForm.MatchString(id) {
			return invalid(id, "PrincipalId", "Unable to verify.")
		}
		accounts = append(accounts, "arn:aws:iam::"+id+":root")
	}
	all := operations()
	for _, action := range r.Actions {
		if _, known := all[action]; !known && action != "*" {
			return invalid("SQS:"+action, "ActionName", "Please refer to the appropriate WSDL for a list of valid actions.")
		}
		actions = append(actions, "SQS:"+action)
	}
	s.Principal.AWS, s.Action = one(accounts), one(actions)
	return c.changePolicy(func(p *policy) error {
		if slices.ContainsFunc(p.Statement, func(raw json.RawMessage) bool { return sid(raw) == r.Label }) {
			return invalid(r.Label, "Label", "Already exists.")
		}
		raw, err := json.Marshal(s)
		p.Statement = append(p.Statement, raw)
		return err
	})
}

func (c *call) removePermission() error {
	if c.req.Label == "" {
		return absent("Label")
	}
	return c.changePolicy(func(p *policy) error {
		before := len(p.Statement)
		p.Statement = slices.DeleteFunc(p.Statement, func(raw json.RawMessage) bool { return sid(raw) == c.req.Label })
		if len(p.Statement) == before {
			return invalid(c.req.Label, "Label", "can't find label.")
		}
		return nil
	})
}

// changePolicy changes the policy; one without statements is removed.
func (c *call) changePolicy(change func(*policy) error) error {
	_, err := c.h.engine.SetSettings(c.ctx, c.queue.Name, func(s *queue.Settings) error {
		p := policy{Version: "2008-10-17", ID: c.arn(c.queue.Name) + "/SQSDefaultPolicy"}
		if text := s.Extra["Policy"]; text != "" {
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				return unsupported.text("The queue's policy has a form that permissions cannot be added to or removed from; set the attribute Policy instead.")
			}
		}
		if err := change(&p); err != nil {
			return err
		}
		text := ""
		if len(p.Statement) > 0 {
			raw, err := json.Marshal(p)
			if err != nil {
				return err
			}
			text = string(raw)
		}
		(&settingsChange{Settings: s}).extra("Policy", text)
		return nil
	})
	return err
}
