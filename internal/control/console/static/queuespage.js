// The queues' pages: the URL says which view is shown and of what, and each
// view says what it shows. A view that is open is looked at again every other
// second: what it shows is updated where it is, and what is new is announced
// and comes when somebody asks for it.

import { call } from "./api.js";
import { byId, make, put } from "./dom.js";
import { count } from "./format.js";
import { none } from "./parts.js";
import { audit } from "./audit.js";
import { edit } from "./edit.js";
import { groups } from "./groups.js";
import { letter } from "./letter.js";
import { letters, discarded } from "./letters.js";
import { order } from "./order.js";
import { queues } from "./queuelist.js";
import { task, tasks } from "./tasks.js";

const views = { queues, groups, letters, letter, edit, order, tasks, task, trash: discarded, audit };
const parts = { letters: "groups", letter: "groups", edit: "groups", order: "groups", task: "tasks" }; // of which entry of the menu
const every = 2000;

let open = new AbortController(); // ends with the view that is shown

// say tells those who hear the page.
const say = (text) => put(byId("said"), text);

function notice(text) {
  put(byId("notice"), text);
  byId("notice").hidden = text === "";
}

// act does what a person asked for and says why when it cannot be done.
async function act(what, doing) {
  try {
    const done = await doing();
    notice("");
    return done;
  } catch (error) {
    notice(`${what} failed: ${error.message}`);
    return undefined;
  }
}

// go shows another view, or another part of this one.
function go(url) {
  history.pushState(null, "", url);
  return render();
}

async function render() {
  open.abort();
  open = new AbortController();
  const { signal } = open, parameters = new URLSearchParams(location.search);
  const name = views[parameters.get("view")] ? parameters.get("view") : "queues";
  const was = document.activeElement?.id, scroll = window.scrollY;
  byId("news").hidden = true;
  byId("main").setAttribute("aria-busy", "true");
  let shown;
  try {
    shown = await views[name]({ parameters, signal, say, act, go, again: render });
  } catch (error) {
    shown = await failed(error);
  }
  if (signal.aborted) return;
  byId("main").removeAttribute("aria-busy");
  notice("");
  put(byId("title"), shown.title);
  document.title = `Bezoar: ${shown.title.toLowerCase()}`;
  for (const a of byId("views").children) {
    const of = new URLSearchParams(a.getAttribute("href")).get("view");
    if (of === (parts[name] ?? name)) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  byId("view").replaceChildren(...shown.content.filter(Boolean));
  if (was && byId(was)) byId(was).focus({ preventScroll: true });
  if (shown.same ?? name === rendered) window.scrollTo(0, scroll);
  else if (rendered) byId("title").focus();
  rendered = name;
  if (shown.watch) watch(shown, signal);
}
let rendered = ""; // the view before

// failed says why a view cannot be shown: often a server has no queues.
async function failed(error) {
  if (error.status === 404 && (await call("GET", "/api/v1/queues").catch((e) => e)).status === 404) {
    return { title: "No queues", content: [make("p", { class: "empty", id: "no-queues" },
      "This server has no queues. ", make("code", {}, "sqs:"), " in its configuration gives it some, and ",
      make("code", {}, "bezoar serve"), " without a file has them.")] };
  }
  return { title: error.status === 404 ? "Not there" : "It cannot be shown", content: [none(error.message)] };
}

async function watch(shown, signal) {
  let told = 0;
  while (!signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, shown.every ?? every));
    if (document.hidden || signal.aborted) continue;
    try {
      const news = await shown.watch();
      if (signal.aborted) return;
      if (byId("notice").dataset.lost) { notice(""); delete byId("notice").dataset.lost; }
      if (news !== told) {
        byId("news").hidden = !news;
        put(byId("news"), `${count(news)} new: show`);
        if (news) say(`${count(news)} new`);
        told = news;
      }
    } catch (error) {
      if (signal.aborted) return;
      byId("notice").dataset.lost = "true";
      notice(error instanceof TypeError ? "No connection, trying again." : error.message);
    }
  }
}

document.addEventListener("click", (e) => {
  const a = e.target.closest("a[href]");
  if (!a || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || !a.getAttribute("href").startsWith("?")) return;
  e.preventDefault();
  go(a.getAttribute("href"));
});
byId("refresh").addEventListener("click", async () => { await render(); say("refreshed"); });
byId("news").addEventListener("click", async () => { await render(); byId("refresh").focus(); });
window.addEventListener("popstate", () => {
  for (const dialog of document.querySelectorAll("#plan[open], #ask[open]")) dialog.close(); // as with Cancel
  return render();
});
render();
