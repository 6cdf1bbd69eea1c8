package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/browsertest"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestLetterAndEdit(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	r.create("orders")
	bug := queue.Outcome{
		Class: bezoar.Bug, Failure: "bad-date", Reason: "no such day\n" + hostile,
		Detail: "exit status 3", Stderr: "loading\n" + hostile + "the last words",
	}
	text, err := json.Marshal(map[string]any{"note": hostile + " ⟨U+0041⟩", "day": "2026-02-30"})
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "\r\n\n"...) // two ends of lines, of which a browser would make one
	r.kill("orders", bug, string(text))
	id := r.letters(queue.Selection{})[0].ID
	p := browsertest.Start(t).Open(r.url+"?view=letter&id="+id, browsertest.Look{})
	p.Wait(at("letter") + ` && document.querySelector("pre.body")`)
	for _, want := range []string{`"day": "2026-02-30"`, "a secret, not shown", "10.0.0.9:4711", "Attempts (1)", "⟨U+202E⟩", "exit status 3", "the last words"} {
		if got := p.Text("#view"); !strings.Contains(got, want) {
			t.Errorf("the letter does not say %q, but\n%s", want, got)
		}
	}
	keep(p, "letter")
	harmless(t, p)

	p.Click("#edit")
	p.Wait(at("edit"))
	p.Eval(`(() => { const e = document.querySelector("#edit-body"); e.value = e.value.replace("2026-02-30", "2026-02-28"); e.dispatchEvent(new Event("input", {bubbles: true})); })()`, nil)
	p.Wait(`document.querySelector('#edit-diff tr[data-sign="~"]')?.innerText.includes("2026-02-28")`)
	keep(p, "edit")
	harmless(t, p)
	p.See(browsertest.Look{Width: 360, Height: 780, Phone: true, Dark: true, Still: true})
	noWider(t, p, 360)
	keep(p, "edit-phone")

	// Somebody receives the letter meanwhile: nothing is sent.
	got, err := r.Receive(t.Context(), "orders-dlq", queue.ReceiveInput{})
	if err != nil || len(got) != 1 {
		t.Fatalf("received %d letters: %v", len(got), err)
	}
	p.Click("#edit-send")
	p.Wait(`document.querySelector("#ask").open && document.activeElement.id === "ask-no"`)
	p.Click("#ask-yes")
	p.Wait(`!document.querySelector("#edit-conflict").hidden`)
	keep(p, "edit-conflict")
	if err := r.ChangeVisibility(t.Context(), "orders-dlq", got[0].Receipt, 0); err != nil {
		t.Fatal(err)
	}
	p.Click("#edit-reread")
	p.Wait(`document.querySelector("#edit-conflict").hidden && document.querySelector("#edit-body").value.includes("2026-02-28")`)
	p.Click("#edit-send")
	p.Wait(`document.querySelector("#ask").open`)
	p.Click("#ask-yes")
	p.Wait(at("letter") + ` && document.querySelector("#restore") && document.querySelector("#view").innerText.includes("Replaced by")`)
	want := strings.Replace(string(text), "02-30", "02-28", 1)
	if bodies := r.finish("orders"); len(bodies) != 1 || bodies[0] != want {
		t.Errorf("sent was %q, not %q", bodies, want)
	}

	pureFunctions(t, p)
	r.kill("orders", bug, "\x00\x01PNG\xff")
	r.phoneInPage(p)
	harmless(t, p)
}

// phoneInPage looks at every view on a phone.
func (r *rig) phoneInPage(p *browsertest.Page) {
	t := r.t
	t.Helper()
	id := r.letters(queue.Selection{Queue: "orders-dlq"})[0].ID
	for _, view := range []string{"letter&id=" + id, "queues", "groups", "letters", "trash", "tasks", "audit", "order&verb=redrive"} {
		p.Eval(fmt.Sprintf(`(() => { const a = document.createElement("a"); a.href = "?view=%s"; document.body.append(a); a.click(); a.remove(); })()`, view), nil)
		name, _, _ := strings.Cut(view, "&")
		p.Wait(at(name))
		noWider(t, p, 360)
		keep(p, "phone-"+name)
		if name == "letter" && !strings.Contains(p.Text("pre.body"), "00 01 50 4e 47 ff") {
			t.Errorf("the bytes read %q", p.Text("pre.body"))
		}
	}
}

// pureFunctions runs those that must not change what somebody sent.
func pureFunctions(t *testing.T, p *browsertest.Page) {
	t.Helper()
	for expression, want := range map[string]string{
		`import("/body.js").then((m) => m.indent('{"n":9007199254740993,"n":1.0, "e":{} ,"l":[[],"}\\"{"]}'))`:                                                "{\n  \"n\": 9007199254740993,\n  \"n\": 1.0,\n  \"e\": {},\n  \"l\": [\n    [],\n    \"}\\\"{\"\n  ]\n}",
		`import("/body.js").then((m) => String(m.indent("{") ?? m.indent("[".repeat(1 << 19))))`:                                                              "null",
		`import("/body.js").then((m) => m.indent(" 7 "))`:                                                                                                     "7",
		`import("/body.js").then((m) => m.hex(new Uint8Array([0, 65, 255])).trim())`:                                                                          "000000  00 41 ff" + strings.Repeat(" ", 41) + "·A·",
		`import("/diff.js").then((m) => JSON.stringify(m.diff("a\nb\nc\nd", "a\nX\nc\nd\ne")))`:                                                               `[["","a","a"],["~","b","X"],["","c","c"],["","d","d"],["+",null,"e"]]`,
		`import("/diff.js").then((m) => JSON.stringify(m.diff("a\nb\nc", "c")))`:                                                                              `[["-","a",null],["-","b",null],["","c","c"]]`,
		`import("/format.js").then((m) => { const s = "⟨U+202E⟩ \u202e ⟨⟨U+ \r\u2028 ⟩"; return m.unspell(m.spell(s)) === s ? m.spell("\u202e") : "lost"; })`: "⟨U+202E⟩",
	} {
		var got string
		if p.Eval(expression, &got); got != want {
			t.Errorf("%s gives %q, not %q", expression, got, want)
		}
	}
}
