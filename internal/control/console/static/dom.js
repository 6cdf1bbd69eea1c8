// Small help with the document. Text becomes text nodes and nothing else: what
// came with a request was written by whoever sent it.

export const byId = (id) => document.getElementById(id);

// make builds an element: make("td", {class: "work"}, "text", child).
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((c) => c != null).map((c) => (c instanceof Node ? c : String(c))));
  return element;
}

// put changes an element's text only when it differs, so that nothing is read
// out twice and no selection is lost.
export function put(element, text) {
  text = String(text);
  if (element.textContent !== text) element.textContent = text;
}

// keep makes the children of parent mirror items: what is there stays where it
// is and is updated, what is new comes last, what is gone goes.
export function keep(parent, items, key, create, update) {
  const there = new Map([...parent.children].map((c) => [c.dataset.key, c]));
  for (const item of items) {
    const id = key(item);
    let child = there.get(id);
    if (child) there.delete(id);
    else {
      child = create(item);
      child.dataset.key = id;
      parent.append(child);
    }
    update(child, item);
  }
  for (const child of there.values()) child.remove();
}

let asked = Promise.resolve(); // settled when no question is open

// ask puts a question whose answer changes something, after the one before has
// been answered. The focus is on Cancel.
export function ask(title, text, yes) {
  asked = asked.then(() => question(title, text, yes));
  return asked;
}

function question(title, text, yes) {
  const dialog = byId("ask");
  put(byId("ask-title"), title);
  put(byId("ask-text"), text);
  put(byId("ask-yes"), yes);
  dialog.showModal();
  byId("ask-no").focus();
  return new Promise((resolve) => {
    const stop = new AbortController();
    let answer = false;
    const done = (yes) => { answer = yes; dialog.close(); };
    byId("ask-yes").addEventListener("click", () => done(true), { signal: stop.signal });
    byId("ask-no").addEventListener("click", () => done(false), { signal: stop.signal });
    dialog.addEventListener("close", () => { stop.abort(); resolve(answer); }, { signal: stop.signal });
  });
}

// show opens the dialog that explains one thing.
export function show(title, ...content) {
  put(byId("detail-title"), title);
  byId("detail-body").replaceChildren(...content.filter(Boolean));
  byId("detail").showModal();
  byId("detail-close").focus();
}

// facts makes a definition list of the pairs that have a value.
export function facts(pairs) {
  const list = make("dl");
  for (const [name, value] of pairs) {
    if (value === "" || value == null) continue;
    list.append(make("dt", {}, name), make("dd", {}, value));
  }
  return list;
}
