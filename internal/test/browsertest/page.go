package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/websocket"
)

// Look is what the person in front of the screen has.
type Look struct {
	Width, Height int // in CSS pixels; 1,200 by 900 when zero
	Dark          bool
	Still         bool // prefers reduced motion
	Phone         bool // touch and a small screen
}

// A Page is one tab. A failure of any method ends the test.
type Page struct {
	t       testing.TB
	conn    *websocket.Conn
	session string

	mu       sync.Mutex // guards the rest
	nextID   int
	waiting  map[int]chan answer
	problems []string
}

type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Open opens url in a new tab and waits until it is loaded.
func (b *Browser) Open(url string, look Look) *Page {
	b.t.Helper()
	conn, err := websocket.Dial(b.ws, "", "http://127.0.0.1")
	if err != nil {
		b.t.Fatalf("reach the browser: %v", err)
	}
	conn.MaxPayloadBytes = 64 << 20
	p := &Page{t: b.t, conn: conn, waiting: make(map[int]chan answer)}
	done := make(chan struct{})
	go func() { defer close(done); p.read() }()
	b.t.Cleanup(func() { _ = conn.Close(); <-done })

	var target struct{ TargetID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	p.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	p.See(look)
	p.call("Page.navigate", map[string]any{"url": url}, nil)
	p.Wait(`document.readyState === "complete" && location.href !== "about:blank"`)
	return p
}

// See changes the screen and its owner's wishes.
func (p *Page) See(look Look) {
	p.t.Helper()
	if look.Width == 0 {
		look.Width, look.Height = 1200, 900
	}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": look.Width, "height": look.Height, "deviceScaleFactor": 1, "mobile": look.Phone,
	}, nil)
	scheme, motion := "light", "no-preference"
	if look.Dark {
		scheme = "dark"
	}
	if look.Still {
		motion = "reduce"
	}
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme},
		{"name": "prefers-reduced-motion", "value": motion},
	}}, nil)
}

// Eval evaluates a JavaScript expression and decodes its value into out, which
// may be nil. A promise is waited for.
func (p *Page) Eval(expression string, out any) {
	p.t.Helper()
	if err := p.eval(expression, out); err != nil {
		p.t.Fatalf("evaluate %s: %v", expression, err)
	}
}

func (p *Page) eval(expression string, out any) error {
	var got struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	err := p.try("Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
	}, &got)
	if err != nil {
		return err
	}
	if e := got.ExceptionDetails; e != nil {
		return fmt.Errorf("%s %s", e.Text, e.Exception.Description)
	}
	if out == nil || got.Result.Value == nil {
		return nil
	}
	return json.Unmarshal(got.Result.Value, out)
}

// Wait waits until the expression is true. It fails the test when that takes
// too long.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		var ok bool
		if err := p.eval("!!("+expression+")", &ok); err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s did not come true in %v; problems: %s", expression, patience, strings.Join(p.Problems(), "; "))
		}
	}
}

// Text returns the visible text of the first element that the selector finds.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	var text string
	p.Eval(fmt.Sprintf("document.querySelector(%q).innerText", selector), &text)
	return text
}

// Click clicks the first element that the selector finds, where a person would.
func (p *Page) Click(selector string) {
	p.t.Helper()
	var at struct{ X, Y float64 }
	p.Eval(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect();
		return {X: r.x + r.width / 2, Y: r.y + r.height / 2};
	})()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.call("Input.dispatchMouseEvent", map[string]any{
			"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1,
		}, nil)
	}
}

// Press presses one key: "Tab", "Enter", "Escape" or " ".
func (p *Page) Press(key string) {
	p.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
	text := ""
	switch key {
	case "Enter":
		text = "\r"
	case " ":
		text = " "
	}
	p.call("Input.dispatchKeyEvent", map[string]any{
		"type": "keyDown", "key": key, "windowsVirtualKeyCode": codes[key], "text": text,
	}, nil)
	p.call("Input.dispatchKeyEvent", map[string]any{
		"type": "keyUp", "key": key, "windowsVirtualKeyCode": codes[key],
	}, nil)
}

// Type types text into the element that has the focus.
func (p *Page) Type(text string) {
	p.t.Helper()
	p.call("Input.insertText", map[string]any{"text": text}, nil)
}

// Picture writes a PNG of the whole page.
func (p *Page) Picture(path string) {
	p.t.Helper()
	var got struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &got)
	data, err := base64.StdEncoding.DecodeString(got.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Problems returns what the page has complained about: exceptions, refused
// resources, errors on its console.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// call sends one command and waits for its answer.
func (p *Page) call(method string, params, out any) {
	p.t.Helper()
	if err := p.try(method, params, out); err != nil {
		p.t.Fatal(err)
	}
}

// try is call for who can go on without it: while one page follows another the
// browser refuses what is about the first.
func (p *Page) try(method string, params, out any) error {
	p.t.Helper()
	got := make(chan answer, 1)
	p.mu.Lock()
	p.nextID++
	id := p.nextID
	p.waiting[id] = got
	p.mu.Unlock()
	message := map[string]any{"id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if p.session != "" {
		message["sessionId"] = p.session
	}
	if err := websocket.JSON.Send(p.conn, message); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	select {
	case a, ok := <-got:
		if !ok {
			p.t.Fatalf("%s: the browser is gone", method)
		}
		if a.Error != nil {
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		if out != nil {
			if err := json.Unmarshal(a.Result, out); err != nil {
				return fmt.Errorf("%s: %w", method, err)
			}
		}
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer in %v", method, patience)
	}
	return nil
}

// read hands out answers and keeps complaints until the connection ends.
func (p *Page) read() {
	for {
		var m struct {
			answer
			ID     int             `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := websocket.JSON.Receive(p.conn, &m); err != nil {
			p.mu.Lock()
			for _, w := range p.waiting {
				close(w)
			}
			p.waiting = map[int]chan answer{}
			p.mu.Unlock()
			return
		}
		p.mu.Lock()
		if w := p.waiting[m.ID]; w != nil {
			delete(p.waiting, m.ID)
			w <- m.answer
		}
		if c := complaint(m.Method, m.Params); c != "" && len(p.problems) < 100 {
			p.problems = append(p.problems, c)
		}
		p.mu.Unlock()
	}
}

func complaint(method string, params json.RawMessage) string {
	var m struct {
		Type string `json:"type"`
		Args []struct {
			Value       any    `json:"value"`
			Description string `json:"description"`
		} `json:"args"`
		Entry struct {
			Level string `json:"level"`
			Text  string `json:"text"`
			URL   string `json:"url"`
		} `json:"entry"`
		ExceptionDetails struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if json.Unmarshal(params, &m) != nil {
		return ""
	}
	switch {
	case method == "Runtime.exceptionThrown":
		return m.ExceptionDetails.Text + " " + m.ExceptionDetails.Exception.Description
	case method == "Log.entryAdded" && m.Entry.Level == "error":
		return m.Entry.Text + " " + m.Entry.URL
	case method == "Runtime.consoleAPICalled" && m.Type == "error":
		return fmt.Sprint(m.Args)
	}
	return ""
}
