// Numbers as people write them, by the language of the page. What can be read in two ways is asked about, never guessed.

const plain = (text) => text.replace(/[\s\u00a0\u2009\u202f'’]/g, "").replace(/^[−–]/, "-");

// the marks of a language: { group, decimal }
function marks(language) {
  const parts = new Intl.NumberFormat(language, { useGrouping: true }).formatToParts(-1234567.5);
  const of = (type) => (parts.find((part) => part.type === type) || { value: "" }).value;
  return { group: of("group"), decimal: of("decimal") };
}

const swapped = ({ decimal }) => (decimal === "," ? { group: ",", decimal: "." } : { group: ".", decimal: "," });

// the number that a text is with these marks, or null
function read(text, { group, decimal }) {
  const mark = (one) => one.replace(/[.\\]/g, "\\$&");
  const whole = group && group.trim() ? `(?:\\d{1,3}(?:${mark(group)}\\d{3})+|\\d+)` : "\\d+";
  const match = new RegExp(`^([+-]?)(${whole})?(?:${mark(decimal)}(\\d*))?$`).exec(text);
  if (!match || (match[2] === undefined && !match[3])) return null;
  const digits = (match[2] || "0").replace(/\D/g, "");
  return Number(`${match[1] === "-" ? "-" : ""}${digits}.${match[3] || "0"}`);
}

// what stands around a number and says what it counts
function bare(text, unit) {
  let found = plain(text);
  for (const word of [unit, "$", "€", "£", "¥"].filter(Boolean).map(plain)) {
    if (found.toLowerCase().endsWith(word.toLowerCase())) found = found.slice(0, -word.length);
    else if (found.toLowerCase().startsWith(word.toLowerCase())) found = found.slice(word.length);
  }
  return found;
}

// A text is { kind: "blank" }, { kind: "number", value }, { kind: "unclear", values: [...] } or { kind: "wrong" }.
export function parse(text, { language, unit = "" }) {
  if (!text.trim()) return { kind: "blank" };
  const found = bare(text, unit);
  const exponent = /^[+-]?\d+(\.\d+)?[eE][+-]?\d+$/.test(found);
  if (exponent) return { kind: "number", value: Number(found) };
  const here = marks(language);
  const own = read(found, here);
  const other = read(found, swapped(here));
  if (own === null && other === null) return { kind: "wrong" };
  if (own === other || other === null) return { kind: "number", value: own };
  // a mark that separates thousands here is plain to whoever reads this language; one that would be a decimal mark
  // with exactly three digits behind it is thousands elsewhere
  if (own !== null && found.includes(here.group)) return { kind: "number", value: own };
  if (own !== null && !new RegExp(`^[+-]?\\d{1,3}\\${here.decimal}\\d{3}$`).test(found)) return { kind: "number", value: own };
  return { kind: "unclear", values: own === null ? [other] : [own, other] };
}

// a number as this language writes it, with all its digits
export const write = (value, language) =>
  new Intl.NumberFormat(language, { maximumFractionDigits: 20, useGrouping: Math.abs(value) >= 10000 ? "always" : false }).format(value);
