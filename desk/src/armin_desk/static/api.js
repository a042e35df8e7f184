// Talks to the desk. Nothing is cached, no cookie is sent, nothing is logged.

const BASE = "api/v1/";
let key = null; // lives as long as the page

export const setKey = (value) => { key = value || null; };
export const keyTried = () => key !== null;

// What went wrong, in one shape: kind is "offline", "busy", "key", "field", "time" or "other".
export class DeskError extends Error {
  constructor(kind, detail, extra = {}) {
    super(detail || kind);
    this.kind = kind;
    this.detail = detail || "";
    Object.assign(this, extra);
  }
}

function kindOf(status, problem) {
  if (status === 401 || status === 403) return "key";
  if (status === 429 || status === 503) return "busy";
  if (status === 504 || status === 408) return "time";
  return problem.field ? "field" : "other";
}

async function call(path, options, signal, base = BASE) {
  const headers = { ...(options.headers || {}) };
  if (key) headers["X-API-Key"] = key;
  let response;
  try {
    response = await fetch(base + path, {
      ...options, headers, signal, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new DeskError("offline");
  }
  if (response.ok) return response;
  let problem = {};
  try {
    problem = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
  }
  const detail = [problem.detail, problem.title].find((text) => typeof text === "string") || "";
  const wait = Number.parseInt(response.headers.get("Retry-After") || "", 10);
  throw new DeskError(kindOf(response.status, problem), detail, {
    status: response.status, field: problem.field, errors: Array.isArray(problem.errors) ? problem.errors : [], wait: Number.isFinite(wait) ? wait : null,
  });
}

const get = async (path, base) => (await call(path, { method: "GET" }, undefined, base)).json();

export const getSchema = (language) => get(`schema?language=${encodeURIComponent(language)}`);
export const getWords = (codes) => get(`words.json?languages=${encodeURIComponent(codes.join(","))}`, "");

const post = (path, body, signal) =>
  call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }, signal);

export const postJson = async (path, body, signal) => (await post(path, body, signal)).json();
export const postBlob = async (path, body, signal) => (await post(path, body, signal)).blob();
export const postText = async (path, body, signal) => (await post(path, body, signal)).text();
