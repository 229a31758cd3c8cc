// Elements made of text and attributes alone. Nothing that comes from data is ever parsed as HTML.
const SVG = "http://www.w3.org/2000/svg";

function build(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  if (node.nodeName === "TH" && !node.hasAttribute("scope")) node.setAttribute("scope", "col");
  for (const child of children.flat(4)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export const h = (tag, props, ...children) => build(document.createElement(tag), props, children);
export const s = (tag, props, ...children) => build(document.createElementNS(SVG, tag), props, children);

const keyOf = (node) => (node.nodeType === 1 ? node.getAttribute("data-key") : null);
const same = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName && keyOf(one) === keyOf(other);

// What the reader has done to the page stays: an open <details>, the text in a field, a chart's cross-hair.
const KEPT = { DETAILS: ["open"], INPUT: ["value"] };

function attributes(from, to) {
  const kept = KEPT[from.nodeName] || [];
  for (const { name, value } of Array.from(to.attributes)) {
    if (!kept.includes(name) && from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of Array.from(from.attributes)) {
    if (!kept.includes(name) && !to.hasAttribute(name)) from.removeAttribute(name);
  }
}

// Makes `from` look like `to` with as few changes as possible, so that focus, scrolling and hovering survive a poll.
export function patch(from, to) {
  attributes(from, to);
  if (from.hasAttribute("data-keep")) return from;
  const byKey = new Map();
  for (const child of from.childNodes) if (keyOf(child)) byKey.set(keyOf(child), child);
  let place = from.firstChild;
  for (const wanted of Array.from(to.childNodes)) {
    const key = keyOf(wanted);
    const known = key ? byKey.get(key) : null;
    if (known && known !== place && same(known, wanted)) {
      from.insertBefore(known, place);
      place = known;
    }
    if (place && same(place, wanted)) {
      if (place.nodeType === 1) patch(place, wanted);
      else if (place.nodeValue !== wanted.nodeValue) place.nodeValue = wanted.nodeValue;
      place = place.nextSibling;
    } else {
      from.insertBefore(wanted, place);
    }
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
  return from;
}

export const fill = (root, ...children) => patch(root, build(root.cloneNode(false), {}, children));
