// The API, asked with the tag of the last answer: what has not changed costs a 304 and no parsing.
import { setServerTime } from "/static/format.js";

const known = new Map();
const MOST = 80;

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || "The server gave no reason.");
    this.status = status;
    this.title = problem.title || "It did not work";
  }
}

export async function get(path) {
  const had = known.get(path);
  const headers = had ? { "If-None-Match": had.etag } : {};
  const answer = await fetch(`/api/v1${path}`, { headers, cache: "no-store", credentials: "same-origin" });
  const at = Number(answer.headers.get("x-time"));
  if (at) setServerTime(at);
  if (answer.status === 304 && had) return had.data;
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  const data = await answer.json();
  known.delete(path);
  known.set(path, { etag: answer.headers.get("etag"), data });
  if (known.size > MOST) known.delete(known.keys().next().value);
  return data;
}

export const kept = (path) => known.get(path)?.data;
