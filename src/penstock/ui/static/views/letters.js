// Dead letters: how many by code, and some of the newest as they came.
import { h } from "/static/dom.js";
import { count, largest, plural, short } from "/static/format.js";
import { badge, command, empty, icon, panel, share, since } from "/static/parts.js";

export function lettersTab(data, ui, letters) {
  if (!letters) return h("p", { class: "loading" }, "Reading the dead letters …");
  const codes = largest(letters.by_code);
  if (!codes.length && !letters.samples.length) return empty("Nothing was rejected.", "Records that cannot be decoded, fail a check or do not fit a sink come here, whole, with the reason.");
  const most = codes.length ? codes[0][1] : 1;
  return h("div", { class: "split" },
    panel("By code", h("table", { class: "dense codes" }, h("tbody", {},
      h("tr", { class: ui.code === null ? "is-chosen" : "" }, h("td", {}, pick(null, "all of them", ui)), h("td", { class: "num" }, count(letters.total))),
      codes.map(([code, number]) => h("tr", { class: ui.code === code ? "is-chosen" : "", "data-key": `code-${code}` }, h("td", { class: "mono" }, pick(code, code, ui)), h("td", { class: "num bar-cell" }, share(number, most, "is-bad"), short(number))))))),
    panel(ui.code === null ? "Newest" : `Newest of ${ui.code}`, [
      letters.trouble ? h("div", { class: "notice is-warn" }, icon("dead"), h("div", {}, h("span", { class: "told" }, "There are no samples to show: ", letters.trouble), h("span", { class: "told" }, "The counts are from the ledger and hold. The table can be read with DuckDB, Polars or Spark: see docs/dead-letters.md."))) : null,
      !letters.trouble && !letters.samples.length ? empty(ui.code === null ? "The table holds no dead letter." : `None of the newest files holds a ${ui.code}.`, letters.table ? command(letters.table) : null) : null,
      letters.samples.length ? h("ul", { class: "letters" }, letters.samples.map(letter)) : null,
      letters.note ? h("p", { class: "foot" }, letters.note) : null,
    ], letters.samples.length ? h("span", { class: "faint mono clip", title: letters.table }, letters.table) : null));
}

const pick = (code, text, ui) => h("button", { type: "button", class: "fold", "data-act": "code", "data-arg": code === null ? "" : code, "aria-pressed": String(ui.code === code) }, text);

function letter(each) {
  return h("li", { class: "letter" },
    h("div", { class: "letter-head" }, badge(each.code, "is-bad"), h("span", { class: "mono" }, each.topic, h("span", { class: "faint" }, `-${each.partition} @ ${each.offset}`)),
      h("span", { class: "faint" }, each.stage), each.field ? h("span", { class: "mono faint" }, each.field) : null, h("span", { class: "end faint" }, since(each.rejected_at))),
    each.detail ? h("p", { class: "detail" }, each.detail) : null,
    payload("key", each.key), payload("value", each.value));
}

function payload(name, body) {
  if (body.form === "none") return h("div", { class: "payload" }, h("span", { class: "payload-name" }, name), h("span", { class: "faint" }, "null"));
  return h("div", { class: "payload" },
    h("span", { class: "payload-name" }, name, h("span", { class: "faint" }, ` ${body.form === "hex" ? "as hex, " : ""}${plural(body.bytes, "byte")}`)),
    h("pre", { class: body.form === "hex" ? "is-hex" : "", tabindex: 0 }, body.text, body.cut ? h("span", { class: "faint" }, " … cut here") : null));
}
