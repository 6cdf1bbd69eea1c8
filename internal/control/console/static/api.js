// The admin API, as the page calls it.

import { byId } from "./dom.js";

const tokenKey = "bezoar-token";
let asking = null; // the promise of a login in progress

function headers(more = {}) {
  const token = sessionStorage.getItem(tokenKey);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

// A Problem is the server's refusal.
export class Problem extends Error {
  constructor(status, document) {
    super(document?.detail || document?.title || `the server answered ${status}`);
    this.status = status;
    this.code = document?.code ?? "";
  }
}

// call sends one request and returns the decoded answer. It asks for the token
// when one is needed.
export async function call(method, path, body) {
  for (;;) {
    const used = sessionStorage.getItem(tokenKey);
    const response = await fetch(path, {
      method,
      headers: headers(body === undefined ? { "Bezoar-Actor": "console" } : { "Bezoar-Actor": "console", "Content-Type": "application/json" }),
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
    });
    if (response.status === 401) {
      await login(used);
      continue;
    }
    const text = await response.text();
    if (!response.ok) {
      let document = null;
      try { document = JSON.parse(text); } catch { /* a proxy's own words */ }
      throw new Problem(response.status, document);
    }
    return text ? JSON.parse(text) : null;
  }
}

// read calls onText with what is there of a plain text, as it comes.
export async function read(path, signal, onText) {
  for (;;) {
    const used = sessionStorage.getItem(tokenKey);
    const response = await fetch(path, { headers: headers(), signal, cache: "no-store", credentials: "omit" });
    if (response.status === 401) {
      await login(used);
      continue;
    }
    if (!response.ok) throw new Problem(response.status, await response.json().catch(() => null));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onText(value);
    }
  }
}

// login asks for the token once, however many calls wait for it. A refusal that
// comes late, of a token that has been replaced since, asks nobody.
function login(used) {
  if (!asking && sessionStorage.getItem(tokenKey) !== used) return Promise.resolve();
  asking ??= new Promise((resolve) => {
    const dialog = byId("login");
    const wrong = sessionStorage.getItem(tokenKey) !== null;
    sessionStorage.removeItem(tokenKey);
    byId("login-wrong").hidden = !wrong;
    byId("login-token").value = "";
    dialog.addEventListener("cancel", (e) => e.preventDefault());
    byId("login-form").addEventListener("submit", (e) => {
      e.preventDefault();
      sessionStorage.setItem(tokenKey, byId("login-token").value.trim());
      dialog.close();
      asking = null;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

// follow reads the event stream until signal aborts, comes back after it broke,
// and goes on where it was. While the page is hidden it holds no connection:
// browsers allow only six to one place.
export async function follow(path, signal, onEvent, onState) {
  let last = "0"; // an id of no life: everything that is still kept
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, 10_000)) {
    await shown(signal);
    const round = new AbortController();
    const stop = () => round.abort();
    const hide = () => { if (document.hidden) stop(); };
    signal.addEventListener("abort", stop);
    document.addEventListener("visibilitychange", hide);
    try {
      const used = sessionStorage.getItem(tokenKey);
      const response = await fetch(path, {
        headers: headers({ "Last-Event-ID": last }),
        signal: round.signal, cache: "no-store", credentials: "omit",
      });
      if (response.status === 401) await login(used);
      else if (response.ok) {
        onState("live");
        pause = 500;
        await readEvents(response.body, (id, data) => { last = id || last; onEvent(data); });
      }
    } catch { /* cut, hidden or refused: try again */ }
    signal.removeEventListener("abort", stop);
    document.removeEventListener("visibilitychange", hide);
    if (signal.aborted) return;
    if (!document.hidden) {
      onState("lost");
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

function shown(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

// readEvents decodes a text/event-stream whose data is one line of JSON each.
async function readEvents(stream, yieldEvent) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", id = "", data = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("id: ")) id = line.slice(4);
      else if (line.startsWith("data: ")) data = line.slice(6);
      else if (line === "" && data) {
        yieldEvent(id, JSON.parse(data));
        data = "";
      }
    }
  }
}
