// Numbers and times as a person reads them.
let skew = 0;
export const setServerTime = (seconds) => { skew = seconds - Date.now() / 1000; };
export const now = () => Date.now() / 1000 + skew;

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
export const none = "–";

export const count = (value) => (value === null || value === undefined ? none : whole.format(value));

export function short(value) {
  if (value === null || value === undefined) return none;
  for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(value) >= size) {
      const amount = value / (unit === "k" ? 1e3 : size);
      return `${amount >= 100 ? amount.toFixed(0) : amount.toFixed(1).replace(/\.0$/, "")}${unit}`;
    }
  }
  return whole.format(value);
}

export function rate(value) {
  if (value === null || value === undefined) return none;
  if (value > 0 && value < 10) return value.toFixed(1);
  return short(value);
}

export function spoken(seconds) {
  if (seconds === null || seconds === undefined) return none;
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) {
      const amount = seconds / size;
      return `${amount < 10 ? amount.toFixed(1) : whole.format(amount)} ${unit}`;
    }
  }
  if (seconds === 0) return "0 s";
  return seconds < 10 ? `${seconds.toFixed(1)} s` : `${seconds.toFixed(0)} s`;
}

export function precise(seconds) {
  if (seconds === null || seconds === undefined) return none;
  if (seconds === 0) return "0 s";
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : seconds < 60 ? `${seconds.toFixed(2)} s` : spoken(seconds);
}

export const ago = (at) => {
  if (!at) return none;
  const passed = Math.max(0, now() - at);
  return passed < 2 ? "just now" : `${passed < 10 ? passed.toFixed(0) + " s" : spoken(passed)} ago`;
};

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const isToday = (date) => date.toDateString() === new Date().toDateString();

export function time(at) {
  if (!at) return none;
  const date = new Date(at * 1000);
  return isToday(date) ? clock.format(date) : `${day.format(date)} ${clock.format(date)}`;
}

export function tick(at, span) {
  const date = new Date(at * 1000);
  return span > 2 * 86400 ? day.format(date) : minute.format(date);
}

// Everything that came up to so long ago is in the sinks.
export function fresh(each) {
  if (!each.lag_at || (each.lag_rows && each.lag_seconds === null)) return null;
  return Math.max(0, now() - each.lag_at) + (each.lag_seconds || 0);
}

export const iso = (at) => (at ? new Date(at * 1000).toISOString() : "");
export const plural = (number, noun, several) => `${count(number)} ${number === 1 ? noun : several || noun + "s"}`;
export const total = (counts) => Object.values(counts || {}).reduce((sum, value) => sum + value, 0);
export const largest = (counts) => Object.entries(counts || {}).sort((one, other) => other[1] - one[1]);
