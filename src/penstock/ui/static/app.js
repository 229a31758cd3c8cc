// The page: where we are, what is asked for, every two seconds anew, and what a click or a key does.
import { hide, listen } from "/static/chart.js";
import { fill, h } from "/static/dom.js";
import { now } from "/static/format.js";
import { get, kept } from "/static/net.js";
import { command, empty, icon } from "/static/parts.js";
import { batchesTab, batchTitle, batchView } from "/static/views/batches.js";
import { overviewTab } from "/static/views/flow.js";
import { lagTab } from "/static/views/lag.js";
import { lettersTab } from "/static/views/letters.js";
import { alertsTab, ledgerTab, schemasTab } from "/static/views/others.js";
import { overview } from "/static/views/overview.js";
import { pipeline, TABS } from "/static/views/pipeline.js";

const POLL = 2000;
const id = (name) => document.getElementById(name);
const ui = fresh();

function fresh() {
  return {
    route: routeOf(location.pathname), filter: "", span: "1h", flow: "whole", code: null, batches: [], ledger: [],
    lag: { mode: "topic", sort: "rows", down: true, filter: "", open: new Set(), all: false },
    chartWidth: 520, error: null, lastOk: 0, back: null,
  };
}

function routeOf(path) {
  const [, first, name, tab, batch] = path.split("/");
  if (first !== "p" || !name) return { page: "overview" };
  const known = TABS.some(([each]) => each === tab) ? tab : "overview";
  const number = known === "batches" && /^\d{1,18}$/.test(batch || "") ? Number(batch) : null;
  return { page: "pipeline", id: decodeURIComponent(name), tab: known, batch: number };
}

// What the present view asks for.
function paths() {
  const { route } = ui;
  if (route.page === "overview") return { main: "/pipelines" };
  const base = `/pipelines/${encodeURIComponent(route.id)}`;
  const before = (stack) => (stack.length ? `?before=${stack[stack.length - 1]}` : "");
  const tab = {
    overview: `${base}/history?span=${ui.span}`, lag: `${base}/lag`, batches: `${base}/batches${before(ui.batches)}`,
    "dead-letters": `${base}/dead-letters${ui.code === null ? "" : `?code=${encodeURIComponent(ui.code)}`}`,
    schemas: `${base}/schemas`, alerts: `${base}/alerts`, ledger: `${base}/ledger${before(ui.ledger)}`,
  }[route.tab];
  return { main: base, tab, batch: route.batch === null ? null : `${base}/batches/${route.batch}` };
}

let asked = 0;
let changed = "";

async function refresh() {
  const turn = (asked += 1);
  const wanted = paths();
  try {
    const main = await get(wanted.main);
    if (turn !== asked) return;
    const key = `${wanted.tab} ${wanted.batch} ${main.change}`;
    const stale = [wanted.tab, wanted.batch].filter((path) => path && (key !== changed || !kept(path)));
    if (stale.length) {
      if (!stale.every(kept)) render();
      await Promise.all(stale.map(get));
      if (turn !== asked) return;
    }
    changed = key;
    ui.error = null;
    ui.lastOk = now();
  } catch (error) {
    if (turn !== asked) return;
    ui.error = error;
  }
  render();
}

let timer = 0;
async function loop() {
  clearTimeout(timer);
  await refresh();
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(loop, POLL);
}

// Drawing.
function render() {
  const wanted = paths();
  const data = kept(wanted.main);
  width();
  banner();
  crumbs(data);
  live();
  const main = id("main");
  if (!data) {
    if (ui.error) fill(main, h("div", { class: "page" }, trouble(ui.error)));
    return;
  }
  if (ui.route.page === "overview") {
    document.title = "penstock";
    fill(main, overview(data, ui));
  } else {
    document.title = `${data.name} · penstock`;
    fill(main, pipeline(data, ui, body(data, wanted.tab)));
  }
  drawer(wanted);
}

function body(data, path) {
  const found = kept(path);
  if (!found && ui.error) return trouble(ui.error);
  return {
    overview: overviewTab, lag: lagTab, batches: batchesTab, "dead-letters": lettersTab, schemas: schemasTab, alerts: alertsTab, ledger: ledgerTab,
  }[ui.route.tab](data, ui, found);
}

function trouble(error) {
  if (error.status === 401) return empty("This dashboard needs its token.", "Open the address that was printed where it was started, with ?token= in it:", command("penstock ui --host ..."));
  if (error.status === 404) return empty("There is no such thing here.", error.message, h("a", { href: "/", "data-link": "" }, "See all pipelines"));
  if (error.status) return empty(error.title, error.message);
  return empty("The dashboard does not answer.", "Is it still running? Start it again, and this page goes on by itself:", command("penstock ui"));
}

function banner() {
  const away = ui.error && kept(paths().main);
  fill(id("banner"), away ? h("div", { class: "notice is-warn" }, icon("dead"), h("div", {}, ui.error.status ? ui.error.message : "The dashboard does not answer: is `penstock ui` still running? What you see is from before; it is asked again every two seconds.")) : null);
}

function crumbs(data) {
  const { route } = ui;
  fill(id("crumbs"), route.page === "overview" ? null : [
    h("span", { class: "slash", "aria-hidden": "true" }, "/"), h("a", { href: "/", "data-link": "" }, "pipelines"), h("span", { class: "slash", "aria-hidden": "true" }, "/"),
    h("a", { href: `/p/${route.id}`, "data-link": "", "aria-current": "page" }, data ? data.name : route.id)]);
}

function live() {
  const bad = Boolean(ui.error) && (!ui.error.status || ui.error.status === 401);
  fill(id("live"), h("span", { class: `dot-live ${bad ? "is-bad" : ""}` }), bad ? "not connected" : "live");
}

function width() {
  const narrow = matchMedia("(max-width: 820px)").matches;
  const room = id("main").clientWidth - 2 * (narrow ? 12 : 20) - 2 * 16 - 2;
  ui.chartWidth = Math.max(240, narrow ? room : Math.floor((room - 28) / 2));
}

function drawer(wanted) {
  const host = id("drawer");
  const open = ui.route.batch !== null && ui.route.batch !== undefined;
  if (!open) { if (host.firstChild) closed(host); return; }
  const first = !host.firstChild;
  if (first) ui.back = ui.back || document.activeElement?.closest?.("[data-key]")?.getAttribute("data-key");
  const batch = kept(wanted.batch);
  const number = ui.route.batch;
  const href = (to) => `/p/${ui.route.id}/batches/${to}`;
  fill(host, h("div", { class: "shade", "data-act": "close" }),
    h("div", { class: "drawer", role: "dialog", "aria-modal": "true", "aria-labelledby": "drawer-title" },
      h("div", { class: "drawer-head" }, batchTitle(number, batch), h("div", { class: "drawer-nav" },
        number > 0 ? h("a", { class: "icon-button", href: href(number - 1), "data-link": "replace", "aria-label": "The batch before" }, "‹") : null,
        h("a", { class: "icon-button", href: href(number + 1), "data-link": "replace", "aria-label": "The next batch" }, "›"),
        h("button", { type: "button", class: "icon-button", "data-act": "close", "aria-label": "Close" }, "×"))),
      h("div", { class: "drawer-body", tabindex: 0, "data-key": `batch-${number}` }, batch ? batchView(batch) : ui.error ? trouble(ui.error) : h("p", { class: "loading" }, "Reading …"))));
  id("main").setAttribute("inert", "");
  if (first) id("drawer-title").focus();
}

function closed(host) {
  host.replaceChildren();
  id("main").removeAttribute("inert");
  const back = ui.back && document.querySelector(`#main [data-key="${CSS.escape(ui.back)}"] a`);
  ui.back = null;
  (back || id("main")).focus();
}

// Going somewhere.
function go(path, replace) {
  const before = ui.route;
  history[replace ? "replaceState" : "pushState"](null, "", path);
  arrive(before);
}

function arrive(before) {
  ui.route = routeOf(location.pathname);
  const elsewhere = before.id !== ui.route.id || before.page !== ui.route.page;
  if (elsewhere) Object.assign(ui, { ...fresh(), span: ui.span, lastOk: ui.lastOk });
  if (elsewhere || before.tab !== ui.route.tab) { ui.error = null; scrollTo(0, 0); hide(); }
  render();
  loop();
}

addEventListener("popstate", () => arrive(ui.route));

const ACTS = {
  theme: () => window.penstockTheme(),
  close: () => go(`/p/${ui.route.id}/batches`),
  span: (arg) => { ui.span = arg; loop(); },
  flow: (arg) => { ui.flow = arg; render(); },
  code: (arg) => { ui.code = arg === "" ? null : arg; loop(); },
  "lag-mode": (arg) => { ui.lag.mode = arg; render(); },
  "lag-all": () => { ui.lag.all = true; render(); },
  "lag-open": (arg) => { ui.lag.open.has(arg) ? ui.lag.open.delete(arg) : ui.lag.open.add(arg); render(); },
  "lag-sort": (arg) => { ui.lag.down = ui.lag.sort === arg ? !ui.lag.down : arg !== "name"; ui.lag.sort = arg; render(); },
  older: (arg) => { ui[ui.route.tab].push(Number(arg)); loop(); },
  newer: () => { ui[ui.route.tab].pop(); loop(); },
};

document.addEventListener("click", (event) => {
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const act = event.target.closest("[data-act]");
  if (act) { ACTS[act.getAttribute("data-act")](act.getAttribute("data-arg")); return; }
  const link = event.target.closest("a[data-link]");
  if (link) { event.preventDefault(); go(link.getAttribute("href"), link.getAttribute("data-link") === "replace"); return; }
  const row = event.target.closest("tr[data-open]");
  if (row && !String(getSelection()) && !event.target.closest("button, a")) { ui.back = row.getAttribute("data-key"); go(row.getAttribute("data-open")); }
});

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const number = event.target.querySelector("#jump")?.value.trim();
  if (/^\d{1,18}$/.test(number || "")) go(`/p/${ui.route.id}/batches/${number}`);
});

document.addEventListener("input", (event) => {
  const name = event.target.getAttribute("data-input");
  if (name === "filter") ui.filter = event.target.value;
  else if (name === "lag-filter") ui.lag.filter = event.target.value;
  else return;
  render();
});

document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, textarea");
  if (event.key === "Escape") {
    if (ui.route.batch !== null && ui.route.batch !== undefined) ACTS.close();
    else if (field && field.value) { field.value = ""; field.dispatchEvent(new Event("input", { bubbles: true })); } else if (field) field.blur();
    return;
  }
  if (event.key === "/" && !field && !event.ctrlKey && !event.metaKey && id("filter")) { event.preventDefault(); id("filter").focus(); return; }
  const tab = event.target.closest('[role="tab"]');
  if (tab && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return turnTab(event, tab);
  const row = event.target.closest("tr[data-open]");
  if (row && ["ArrowUp", "ArrowDown"].includes(event.key)) {
    const next = event.key === "ArrowUp" ? row.previousElementSibling : row.nextElementSibling;
    if (next) { event.preventDefault(); next.querySelector("a")?.focus(); }
  }
  if (event.key === "Tab") stayInside(event);
});

function turnTab(event, tab) {
  const all = [...tab.parentElement.querySelectorAll('[role="tab"]')];
  const at = all.indexOf(tab);
  const to = { ArrowLeft: (at - 1 + all.length) % all.length, ArrowRight: (at + 1) % all.length, Home: 0, End: all.length - 1 }[event.key];
  event.preventDefault();
  go(all[to].getAttribute("href"));
  id(all[to].id)?.focus();
}

// The drawer is a dialog: the focus goes round in it.
function stayInside(event) {
  const inside = document.querySelector(".drawer");
  if (!inside) return;
  const stops = [...inside.querySelectorAll("a[href], button, [tabindex='0']")];
  const [first, last] = [stops[0], stops[stops.length - 1]];
  if (event.shiftKey && (document.activeElement === first || document.activeElement.id === "drawer-title")) { event.preventDefault(); last.focus(); }
  else if (!event.shiftKey && document.activeElement === last) { event.preventDefault(); first.focus(); }
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) loop(); });
let resizing = 0;
addEventListener("resize", () => { cancelAnimationFrame(resizing); resizing = requestAnimationFrame(render); });

// The token has done its work: a cookie holds its proof now, and the address bar need not show it.
if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", location.pathname);
listen();
loop();
