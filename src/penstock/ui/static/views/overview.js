// Every pipeline, one row each; what needs somebody comes first.
import { spark } from "/static/chart.js";
import { h } from "/static/dom.js";
import { count, fresh, plural, precise, rate, short, spoken } from "/static/format.js";
import { badge, command, empty, figure, notes, panel, pill, since } from "/static/parts.js";

const ORDER = ["failed", "dead", "waiting", "paused", "starting", "working", "idle", "stopped", "done", "new"];
const lives = (each) => each.running;
const urgent = (each) => (each.status === "failed" || each.status === "dead" ? 0 : each.alerts.length ? 1 : 2);

export function overview(data, ui) {
  const wanted = ui.filter.toLowerCase();
  const all = data.pipelines;
  const shown = all
    .filter((each) => [each.name, each.status, ...each.topics].some((text) => text.toLowerCase().includes(wanted)))
    .sort((one, other) => urgent(one) - urgent(other) || ORDER.indexOf(one.status) - ORDER.indexOf(other.status) || one.name.localeCompare(other.name));
  return h("div", { class: "page" },
    h("div", { class: "page-head" }, h("h1", {}, "Pipelines")),
    all.length ? summary(all) : null,
    notes(data.notes),
    all.length ? panel(plural(all.length, "pipeline"), shown.length ? rows(shown) : empty(`No pipeline matches “${ui.filter}”.`),
      h("input", { class: "filter", type: "search", id: "filter", "data-input": "filter", placeholder: "Filter  ( / )", "aria-label": "Filter pipelines", value: ui.filter, autocomplete: "off" }))
      : empty("There is no pipeline here yet.", "Start one, and it appears by itself:", command("penstock run FILE"), "Or see one at work:", command("penstock demo")));
}

function summary(all) {
  const running = all.filter(lives);
  const trouble = all.filter((each) => urgent(each) < 2);
  const lag = running.reduce((sum, each) => sum + (each.lag_rows || 0), 0);
  const rows = running.reduce((sum, each) => sum + (each.rows_per_second || 0), 0);
  const oldest = Math.max(...running.map((each) => fresh(each) || 0), 0);
  return h("dl", { class: "figures" },
    figure("Running", `${count(running.length)}`, `of ${plural(all.length, "pipeline")}`),
    figure("Need somebody", count(trouble.length), trouble.length ? trouble.map((each) => each.name).slice(0, 3).join(", ") : "all is well", trouble.length ? "is-bad" : "is-ok"),
    figure("Rows a second", rate(rows), "of all that run"),
    figure("Unread rows", short(lag), "of all that run"),
    figure("Least fresh", running.length ? spoken(oldest) : "–", "of all that run"));
}

function rows(shown) {
  return h("div", { class: "scroll" }, h("table", { class: "wide rows", id: "pipelines" },
    h("thead", {}, h("tr", {},
      h("th", {}, "Pipeline"), h("th", {}, "Status"), h("th", { class: "num" }, "Freshness"), h("th", { class: "num" }, "Lag, rows"),
      h("th", { class: "num" }, "Rows/s"), h("th", {}, "Last 30 min"), h("th", { class: "num" }, "Batch"), h("th", { class: "num" }, "Rejected"), h("th", {}, "Alerts"))),
    h("tbody", {}, shown.map(row))));
}

function row(each) {
  const old = lives(each) ? "" : " is-old";
  const age = lives(each) || !each.at ? null : h("span", { class: "sub" }, "as of ", since(each.at));
  return h("tr", { "data-key": each.id, "data-open": `/p/${each.id}` },
    h("td", { class: "name-cell" }, h("a", { href: `/p/${each.id}`, "data-link": "", class: "strong" }, each.name), h("span", { class: "sub route" }, route(each))),
    h("td", {}, pill(each), ["failed", "dead", "waiting"].includes(each.status) ? h("span", { class: "sub clip", title: each.says }, each.says.split("\n")[0]) : null),
    h("td", { class: "num" }, spoken(fresh(each))),
    h("td", { class: `num${old}` }, count(each.lag_rows), trend(each), age),
    h("td", { class: "num" }, rate(each.rows_per_second)),
    h("td", {}, spark(each.spark)),
    h("td", { class: "num" }, count(each.batch_id), h("span", { class: "sub" }, each.last_batch_seconds === null ? "" : precise(each.last_batch_seconds))),
    h("td", { class: "num" }, short(each.rejected)),
    h("td", {}, each.alerts.length ? each.alerts.slice(0, 2).map((name) => badge(name, "is-bad")) : h("span", { class: "faint" }, "none"), each.alerts.length > 2 ? h("span", { class: "sub" }, `and ${each.alerts.length - 2} more`) : null));
}

const trend = (each) => (["growing", "spike", "falling"].includes(each.trend) ? h("span", { class: `sub ${each.trend === "growing" ? "bad" : ""}` }, each.trend) : null);

function route(each) {
  const topics = each.topics.slice(0, 2).join(", ") + (each.topics_total > 2 ? ` +${each.topics_total - 2}` : "");
  return [topics || "no topic yet", h("span", { class: "arrow", "aria-label": "to" }, " → "), each.sinks.join(", ") || "no sink yet"];
}
