// The page's own words, in one language at a time, as the server has them. What is said about an answer comes with it.

import { getWords } from "./api.js";

const kept = new Map(); // by language, as long as the page
let now = { language: "en", names: {}, texts: {} };

export const current = () => now.language;
export const names = () => now.names;

// speaks the first of these languages that the desk has
export async function speak(codes) {
  now = codes.length === 1 && kept.get(codes[0]) || await getWords(codes);
  kept.set(now.language, now);
}

// a text with its holes filled; of several forms, the one for the number n
export function t(word, values = {}) {
  const entry = now.texts[word];
  const text = typeof entry === "string" ? entry : entry[new Intl.PluralRules(now.language).select(values.n)] || entry.other;
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

// what the server says about an answer, in the present language
export const said = (answer) => answer.said[now.language];

// marks of an axis, which are round numbers
const mark = (value) => new Intl.NumberFormat(now.language, { maximumSignificantDigits: 3 }).format(value);
export const costMark = mark;
export const shareMark = (share) => t("percent", { number: mark(Math.round(share * 100)) });
