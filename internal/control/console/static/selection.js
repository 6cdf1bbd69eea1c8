// Which dead letters are meant, as the URL says, as the API wants it, and as a
// person chooses.

import { call } from "./api.js";
import { make } from "./dom.js";
import { visible } from "./format.js";
import { classes, link, query, trash, wild } from "./parts.js";

const most = 500; // groups whose queues are offered

// chosen is the selection that the URL names.
export function chosen(parameters) {
  const s = {};
  for (const name of ["queue", "origin", "class", "after", "before", "body", "reason"]) if (parameters.get(name)) s[name] = parameters.get(name);
  for (const name of ["group", "id", "attribute"]) if (parameters.has(name)) s[name] = parameters.getAll(name);
  return s;
}

// asSelection is a selection as the API wants it in a document.
export function asSelection({ group, id, attribute, ...rest }) {
  const attributes = attribute && Object.fromEntries(attribute.map((a) => [a.slice(0, a.indexOf("=")), a.slice(a.indexOf("=") + 1)]));
  return { ...rest, ...(group ? { groups: group } : {}), ...(id ? { ids: id } : {}), ...(attributes ? { attributes } : {}) };
}

// filter is a form whose every change is a new URL.
export async function filter(view, selection, go) {
  const there = (await call("GET", `/api/v1/dead/groups?limit=${most}`)).groups.map((g) => g.queue);
  const queues = [...new Set([...there, selection.queue].filter((q) => q && q !== trash))].sort();
  const change = (more) => go(`?${query({ view, ...selection, ...more })}`);
  const select = (name, label, first, values) => make("span", { class: "pair" },
    make("label", { for: `filter-${name}` }, label),
    make("select", { id: `filter-${name}`, change: (e) => change({ [name]: e.target.value }) },
      make("option", { value: "" }, first),
      ...values.map((v) => make("option", { value: v, selected: v === selection[name] }, visible(v)))));
  const text = (name, label, attributes, to = (v) => v) => make("span", { class: "pair" },
    make("label", { for: `filter-${name}` }, label),
    make("input", { id: `filter-${name}`, type: "search", size: 14, autocomplete: "off", spellcheck: "false", ...attributes, change: (e) => e.target.reportValidity() && change({ [name]: to(e.target.value) }) }));
  const chip = (name, label, value, left = "") => make("span", { class: "chip" }, `${label} `, wild(value), " ",
    link("×", { view, ...selection, [name]: left }, { "aria-label": `without ${label}` }));
  return make("form", { class: "filters", submit: (e) => e.preventDefault() },
    view === "trash" ? null : select("queue", "Queue", "all", queues),
    select("class", "Class", "all", classes),
    text("body", "Body has", { value: selection.body ?? "" }),
    text("reason", "Reason has", { value: selection.reason ?? "" }),
    text("attribute", "Attribute", { placeholder: "NAME=VALUE", pattern: "[^=]+=.*" }, (v) => (v ? [...(selection.attribute ?? []).filter((a) => !a.startsWith(v.slice(0, v.indexOf("=") + 1))), v] : selection.attribute)),
    ...(selection.attribute ?? []).map((a) => chip("attribute", "attribute", a, selection.attribute.filter((b) => b !== a))),
    selection.origin ? chip("origin", "from", selection.origin) : null,
    selection.group ? chip("group", "group", selection.group.join(", ")) : null,
    selection.id ? chip("id", "chosen", `${selection.id.length}`) : null);
}
