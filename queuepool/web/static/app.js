// What the page does besides showing: live updates, keys, the theme. Everything works without it,
// except that pages then stand still until they are loaded again.
"use strict";

const root = document.documentElement.dataset.root || "";
const byId = (id) => document.getElementById(id);

// -- live: {id: html, "id@attribute": value, "id%": classes of its children} ---------------------

function apply(patch) {
  for (const [name, value] of Object.entries(patch)) {
    const at = name.indexOf("@");
    if (at > 0) {
      const element = byId(name.slice(0, at));
      if (element) element.setAttribute(name.slice(at + 1), value);
    } else if (name.endsWith("%")) {
      const cells = byId(name.slice(0, -1))?.children || [];
      value.split(" ").forEach((level, n) => {
        if (cells[n]) cells[n].className = "h" + level;
      });
    } else {
      const element = byId(name);
      if (element && element.innerHTML !== value && !element.contains(document.activeElement)) {
        element.innerHTML = value;
      }
    }
  }
}

function follow(url) {
  const light = byId("live");
  const tell = (state, text) => {
    if (!light) return;
    light.dataset.state = state;
    light.querySelector("span").textContent = text;
  };
  let source = null;
  const open = () => {
    source = new EventSource(url);
    source.onopen = () => tell("on", "live");
    source.onerror = () => tell("off", source.readyState === 2 ? "not live" : "connecting");
    source.onmessage = (event) => {
      tell("on", "live");
      apply(JSON.parse(event.data));
    };
  };
  open();
  // Hidden pages need no updates; back in sight they get everything at once.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source.close();
    } else if (source.readyState === 2) {
      open();
    }
  });
  addEventListener("pagehide", () => source.close());
}

const live = document.body.dataset.live;
if (live && window.EventSource) follow(live);

// -- theme ----------------------------------------------------------------------------------------

function isDark() {
  const set = document.documentElement.dataset.theme;
  return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

byId("theme")?.addEventListener("click", () => {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("queuepool-theme", theme); } catch (_) { /* for this page alone */ }
});

// -- keys -----------------------------------------------------------------------------------------

const places = { o: "/", g: "/groups", j: "/find", e: "/errors", s: "/scaling", l: "/limits",
  t: "/schedules", f: "/flows", h: "/log", y: "/system" };
let went = 0;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, textarea, select");
  if (event.key === "Escape" && typing) typing.blur();
  if (typing) return;
  if (event.key === "/") {
    event.preventDefault();
    byId("search")?.focus();
  } else if (event.key === "?") {
    event.preventDefault();
    byId("help")?.showModal();
  } else if (places[event.key] && Date.now() - went < 1500) {
    went = 0;
    location.assign(root + places[event.key]);
  } else if (event.key === "g") {
    went = Date.now();
  }
});

byId("help-button")?.addEventListener("click", () => byId("help").showModal());

// An act that was opened is closed by Escape, and only one is open at a time.
const acts = [...document.querySelectorAll("details.act, details.menu")];
for (const act of acts) {
  act.addEventListener("toggle", () => {
    if (!act.open) return;
    for (const other of acts) if (other !== act) other.open = false;
    act.querySelector("form input:not([type=hidden]), form button")?.focus();
  });
}
document.addEventListener("keydown", (event) => {
  const open = acts.find((act) => act.open);
  if (event.key === "Escape" && open) {
    open.open = false;
    open.querySelector("summary").focus();
  }
});
document.addEventListener("click", (event) => {
  for (const act of acts) if (act.open && !act.contains(event.target)) act.open = false;
});

// A form is sent once.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// -- sliders: ask again as they move ---------------------------------------------------------------

for (const form of document.querySelectorAll("form[data-answer]")) {
  let asked = 0;
  const ask = async () => {
    const mine = ++asked;
    for (const out of form.querySelectorAll("output")) {
      out.textContent = form.elements[out.dataset.of].value;
    }
    const query = new URLSearchParams(new FormData(form));
    const answer = await fetch(`${form.dataset.answer}?${query}`, { headers: { accept: "text/plain" } });
    const text = await answer.text();
    if (mine === asked && answer.ok) byId(form.dataset.into).innerHTML = text;
  };
  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 120);
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
}

// -- signing in: the link that `queuepool up` prints has the token where no server sees it ---------

const token = byId("token");
if (token) {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    history.replaceState(null, "", location.pathname + location.search);
    token.value = given;
    token.form.submit();
  } else {
    // A link from another site brings no cookie along; our own request does.
    fetch(`${root}/login`, { method: "HEAD", redirect: "manual" }).then((answer) => {
      if (answer.type === "opaqueredirect") location.reload();
    }).catch(() => {});
  }
}
