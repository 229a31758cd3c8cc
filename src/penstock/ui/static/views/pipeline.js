// One pipeline: how it stands, and the tabs.
import { h } from "/static/dom.js";
import { ago, count, fresh, now, plural, precise, rate, short, spoken } from "/static/format.js";
import { figure, icon, notes, pill, told } from "/static/parts.js";

export const TABS = [
  ["overview", "Overview"], ["lag", "Lag"], ["batches", "Batches"], ["dead-letters", "Dead letters"],
  ["schemas", "Schemas"], ["alerts", "Alerts"], ["ledger", "Ledger"],
];

export function pipeline(data, ui, body) {
  const lives = data.running;
  return h("div", { class: "page" },
    h("div", { class: "page-head" },
      h("h1", {}, data.name), pill(data), h("p", { class: "says" }, state(data))),
    data.status === "failed" || data.status === "dead" ? h("div", { class: "notice is-bad", role: "status" }, icon("failed"), h("div", {}, told(data.says))) : null,
    data.status === "waiting" ? h("div", { class: "notice is-warn", role: "status" }, icon("waiting"), h("div", {}, told(data.says), h("span", { class: "told faint" }, `since ${ago(data.waiting_since).replace(" ago", "")}`))) : null,
    data.standing.slice(0, 3).map((each) => h("a", { class: "notice is-bad as-link", href: `/p/${data.id}/alerts`, "data-link": "", "data-key": `alert-${each.alert}` }, icon("dead"), h("div", {}, h("b", {}, each.alert), " ", each.text))),
    notes(data.notes),
    figures(data, lives),
    tabs(data, ui),
    h("div", { id: "tab", role: "tabpanel", "aria-labelledby": `tab-${ui.route.tab}`, tabindex: 0, "data-key": `tab-${ui.route.tab}` }, body));
}

function state(data) {
  if (data.in_hand) {
    const hand = data.in_hand;
    return [`Batch ${count(hand.batch_id)} is in hand: `, h("b", {}, hand.phase), ` for ${spoken(Math.max(0, now() - hand.phase_since))}`, hand.offsets ? `, ${plural(hand.offsets, "offset")}` : ""];
  }
  if (data.running) return data.status === "waiting" ? "" : data.says;
  return data.at ? `Last heard of ${ago(data.at)}` : told(data.says);
}

function figures(data, lives) {
  const lag = data.lag;
  const asOf = lives ? null : data.at ? `as of ${ago(data.at)}` : "never measured";
  const last = data.last_batch;
  const catching = lag && data.lag_rows ? (lag.catch_up_seconds === null ? "it keeps pace" : `caught up in ${spoken(lag.catch_up_seconds)}`) : "nothing is unread";
  const old = lives ? "" : "is-old";
  return h("dl", { class: "figures" },
    figure("Freshness", spoken(fresh(data)), lives ? "all older rows are in the sinks" : "and it grows: nobody reads"),
    figure("Lag", short(data.lag_rows), asOf || (data.trend === "growing" ? "rows, and growing" : lag ? `rows; ${catching}` : "not measured yet"), old || (data.trend === "growing" ? "is-bad" : "")),
    figure("Rows a second", rate(data.rows_per_second), lives && lag && lag.arrival_per_second !== null ? `${rate(lag.arrival_per_second)} come` : lives ? "" : "it does not run"),
    figure("Last batch", last ? precise(last.seconds) : "–", last ? `${short(last.read)} rows, ${ago(data.last_batch_at)}` : "none committed yet"),
    figure("Read", short(data.read), data.generation === null ? "" : `in generation ${data.generation}`),
    figure("Rejected", short(data.rejected), data.read ? `${((100 * data.rejected) / data.read).toFixed(data.rejected && data.rejected / data.read < 0.001 ? 3 : 2)} % of what was read` : "", ""),
    lag && lag.runway_seconds !== null ? figure("Runway", spoken(lag.runway_seconds), "then unread rows are deleted", "is-bad") : null);
}

function tabs(data, ui) {
  const marks = { "dead-letters": data.rejected ? short(data.rejected) : "", alerts: data.standing.length || "", batches: data.batch_id === null ? "" : short(data.batch_id + 1) };
  return h("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the pipeline" },
    TABS.map(([name, text]) => {
      const chosen = name === ui.route.tab;
      return h("a", { role: "tab", id: `tab-${name}`, href: name === "overview" ? `/p/${data.id}` : `/p/${data.id}/${name}`, "data-link": "", "aria-selected": String(chosen), tabindex: chosen ? 0 : -1 },
        text, marks[name] ? h("span", { class: `count ${name === "alerts" ? "is-bad" : ""}` }, marks[name]) : null);
    }));
}
