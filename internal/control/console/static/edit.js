// Editing a letter on its way back: the old one beside the new one, and one
// transaction on the server that refuses when the letter has changed meanwhile.

import { call } from "./api.js";
import { ask, facts, make, put } from "./dom.js";
import { count, spell, unspell, visible } from "./format.js";
import { button, link, none, query, row, table, wild } from "./parts.js";
import { indent } from "./body.js";
import { diff } from "./diff.js";

const most = 500; // rows of what changes
const around = 3; // unchanged lines shown beside changed ones

// A browser knows one end of a line. Where all lines ended as on another system
// they do so again; any other \r is spelled out.
const foreign = (text) => text.includes("\r\n") && !/(?:^|[^\r])\n|\r(?!\n)/.test(text);
const toField = (text) => spell(foreign(text) ? text.replaceAll("\r\n", "\n") : text);
const fromField = (field, old) => (foreign(old) ? unspell(field).replaceAll("\n", "\r\n") : unspell(field));

export async function edit(context) {
  const id = context.parameters.get("id") ?? "";
  const path = `/api/v1/dead/letters/${encodeURIComponent(id)}`;
  let old = await call("GET", path);
  const text = old.body?.text, { queues } = await call("GET", "/api/v1/queues");
  const changes = make("div", { id: "edit-diff" }), hint = make("p", { class: "empty", id: "edit-hint", role: "status" });
  const area = text == null ? null : make("textarea", { id: "edit-body", rows: 14, spellcheck: "false", input: () => review() });
  if (area) area.value = toField(text);
  const list = attributeList(old.attributes ?? {}, () => review());
  const to = make("input", { id: "edit-to", list: "edit-queues", autocomplete: "off", spellcheck: "false", placeholder: old.origin || "" });
  const why = make("input", { id: "edit-why", autocomplete: "off", maxlength: 1000 });
  const conflict = make("p", { class: "wrong", id: "edit-conflict", role: "alert", hidden: true });

  const now = () => (area ? fromField(area.value, text) : null);
  const review = () => {
    const body = now();
    changes.replaceChildren(...compare(old.body?.text ?? "", body ?? "", old.attributes ?? {}, list.read()));
    put(hint, [
      area && indent(text) !== null && indent(body) === null ? "The old body was JSON; the new one is not." : "",
      area?.value.includes("⟨U+") ? "⟨U+…⟩ stands for one character that cannot be seen, and is sent as that." : "",
    ].filter(Boolean).join(" "));
  };
  const send = async () => {
    const where = to.value.trim() || old.origin;
    if (!await ask("Send it?", `The changed letter goes to ${visible(where)}, and the old one to the trash.`, "Send")) return;
    try {
      const done = await call("POST", `${path}/edit`, changed(old, now(), list, to, why));
      context.say(`sent to ${done.destination}`);
      context.go(`?${query({ view: "letter", id: done.letter })}`);
    } catch (error) {
      conflict.hidden = false;
      conflict.replaceChildren(visible(error.message), " ", error.status !== 409 ? "" : button("Compare with the letter as it is now", async () => {
        await context.act("read it again", async () => {
          old = await call("GET", path);
          conflict.hidden = true;
          put(whole, visible(old.body?.text ?? ""));
          review();
        });
      }, { id: "edit-reread" }));
      conflict.scrollIntoView({ block: "nearest" });
    }
  };
  const whole = make("pre", { tabindex: "0", class: "body", "aria-label": "the old body" }, visible(text ?? ""));
  review();
  return {
    title: "Edit and redrive",
    content: [
      facts([["Letter", link(old.id, { view: "letter", id: old.id })], ["From", old.origin ? wild(old.origin) : ""], ["Failed", wild(old.reason)]]),
      area ? make("div", { class: "sides" },
        make("div", {}, make("h3", {}, "Old"), whole),
        make("div", {}, make("h3", {}, make("label", { for: "edit-body" }, "New")), area,
          indent(text) === null ? null : make("p", {}, button("Lay out", () => { area.value = toField(indent(now()) ?? now()); review(); })))) :
        none("The body is no text and stays as it is."),
      hint,
      make("h3", {}, "Attributes"), list.whole,
      make("h3", {}, "What changes"), changes,
      make("div", { class: "order" },
        make("p", { class: "field" }, make("label", { for: "edit-to" }, "To"), to, make("datalist", { id: "edit-queues" }, ...queues.map((q) => make("option", { value: q.name })))),
        make("p", { class: "field" }, make("label", { for: "edit-why" }, "Why, for the audit log"), why)),
      conflict,
      make("p", { class: "actions" }, link("Cancel", { view: "letter", id: old.id }, { class: "button" }),
        make("button", { type: "button", class: "primary", id: "edit-send", click: send }, "Send the changed letter")),
    ],
  };
}

// changed is the edit as the API wants it. What was not changed is not sent,
// so that it stays as it was, byte for byte.
function changed(old, body, list, to, why) {
  const e = { version: old.version, destination: to.value.trim(), reason: why.value.trim() };
  if (body !== null && body !== old.body?.text) e.body = { text: body, bytes: 0 };
  const attributes = list.read();
  if (!same(attributes, old.attributes ?? {})) e.attributes = attributes;
  return e;
}

const canon = (a) => JSON.stringify(Object.entries(a).sort().map(([n, v]) => [n, v.type, v.value ?? "", v.binary ?? "", Boolean(v.masked)]));
const same = (a, b) => canon(a) === canon(b);

function compare(before, after, oldOnes, newOnes) {
  const spread = (t) => indent(t) ?? t;
  const text = (of) => Object.entries(of).sort().map(([n, a]) => `${n} (${a.type}): ${a.masked ? "a secret" : a.value ?? a.binary ?? ""}`).join("\n");
  const rows = [...near(diff(spread(before), spread(after))), ...near(diff(text(oldOnes), text(newOnes)))];
  if (!rows.length) return [none(before === after ? "Nothing yet." : "Only how it is laid out.")];
  const signs = { "~": "changed", "-": "goes", "+": "comes" };
  return [table("What changes", [{ text: "Change", hidden: true }, "Old", "New"], rows.slice(0, most).map(([sign, a, b]) =>
    make("tr", { "data-sign": sign },
      make("td", {}, make("span", { "aria-label": signs[sign] ?? null }, sign === "-" ? "−" : sign)),
      make("td", { class: "code" }, a === null ? "" : visible(a)), make("td", { class: "code" }, b === null ? "" : visible(b))))).whole,
  rows.length > most ? none(`and ${count(rows.length - most)} lines more`) : ""];
}

// near leaves out the lines that are the same and far from a change.
function near(rows) {
  const out = [];
  let left = 0;
  rows.forEach((r, i) => {
    if (r[0] || rows.slice(Math.max(0, i - around), i + around + 1).some((x) => x[0])) {
      if (left) out.push(["", `… ${count(left)} lines`, `… ${count(left)} lines`]);
      left = 0;
      out.push(r);
    } else left++;
  });
  return out;
}

// attributeList is the attributes as fields. Secrets and bytes stay as they are.
function attributeList(of, changed) {
  const { body, whole } = table("Attributes", ["Name", "Type", "Value", { text: "Actions", hidden: true }], []);
  const input = (label, value, fixed) => make("input", { "aria-label": label, value, disabled: fixed, autocomplete: "off", spellcheck: "false", input: changed });
  const add = (name, a) => {
    const fixed = Boolean(a.masked || a.binary);
    const r = row("", make("td", {}, input("name", spell(name), fixed)), make("td", {}, input("type", a.type, fixed)),
      make("td", {}, input("value", a.masked ? "a secret, not shown" : a.binary ? "bytes" : spell(a.value ?? ""), fixed)),
      make("td", {}, button("Remove", () => { r.remove(); changed(); }, { "aria-label": `Remove ${visible(name)}` })));
    kept.set(r, fixed ? a : null);
    body.append(r);
    return r;
  };
  const kept = new WeakMap();
  for (const [name, a] of Object.entries(of).sort()) add(name, a);
  const more = button("Add an attribute", () => add("", { type: "String" }).querySelector("input").focus(), { id: "edit-attribute" });
  return {
    whole: make("div", {}, whole, make("p", {}, more)),
    read: () => Object.fromEntries([...body.children].map((r) => {
      const [name, type, value] = [...r.querySelectorAll("input")].map((i) => unspell(i.value));
      return [name, kept.get(r) ?? { type, value }];
    }).filter(([name]) => name !== "")),
  };
}
