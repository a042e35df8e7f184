// The letter, shown in a frame of its own and printed from there. Scripts never run in it.

import { postBlob, postText } from "./api.js";
import { byId, h, save } from "./dom.js";
import { current, t } from "./words.js";

// The frame inherits the page's content security policy, which refuses inline styles. The letter's own style sheets
// are therefore taken out before it is parsed, and adopted as constructed sheets.
function fill(frame, html, close) {
  const css = [];
  const bare = html.replace(/<style[^>]*>([^]*?)<\/style>/gi, (_, text) => { css.push(text); return ""; });
  const source = new DOMParser().parseFromString(bare, "text/html");
  const page = frame.contentDocument;
  for (const unwanted of source.querySelectorAll("script, link, iframe, object, embed, base, meta")) unwanted.remove();
  page.documentElement.lang = source.documentElement.lang || "en";
  page.title = source.title;
  page.body.replaceChildren(...Array.from(source.body.childNodes, (node) => page.importNode(node, true)));
  for (const { name, value } of source.body.attributes) {
    if (name === "class" || name.startsWith("data-")) page.body.setAttribute(name, value);
  }
  page.onkeydown = (event) => { if (event.key === "Escape") close(); };
  page.adoptedStyleSheets = css.map((text) => {
    const sheet = new frame.contentWindow.CSSStyleSheet();
    sheet.replaceSync(text);
    return sheet;
  });
}

// several letters as one file, each on paper of its own; put together as text, so that nothing of it runs in this page
export function joined(pages) {
  const styles = new Set(pages.flatMap((html) => Array.from(html.matchAll(/<style[^>]*>([^]*?)<\/style>/gi), (found) => found[1])));
  const bodies = pages.map((html) => {
    const [, attributes, body] = /<body([^>]*)>([^]*)<\/body>/i.exec(html) || ["", "", ""];
    return `<div${attributes}>${body}</div>`;
  });
  const head = `<meta charset="utf-8"><title>${t("cases_letters")}</title><style>${[...styles].join("\n")}\nbody > div { break-after: page; }</style>`;
  return `<!doctype html>\n<html lang="${current()}"><head>${head}</head><body>${bodies.join("\n")}</body></html>`;
}

export class Letter {
  constructor() {
    this.dialog = byId("letter");
    this.frame = byId("letter-page");
    this.name = byId("letter-name");
    this.request = null;
    this.control = null;
    byId("letter-close").addEventListener("click", () => this.dialog.close());
    byId("letter-apply").addEventListener("click", () => this.write());
    byId("letter-pdf").addEventListener("click", () => this.toPdf());
    byId("letter-print").addEventListener("click", () => this.frame.contentWindow.print());
    this.name.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); this.write(); }
    });
    this.dialog.addEventListener("close", () => {
      if (this.control) this.control.abort();
      this.name.value = "";
      this.frame.contentDocument.body.replaceChildren();
    });
  }

  // a sheet of information has no name on it
  open(request, notice) {
    this.request = request;
    for (const part of [this.name, byId("letter-apply"), this.dialog.querySelector("label")]) part.hidden = !notice;
    this.frame.contentDocument.body.replaceChildren();
    this.dialog.showModal();
    return this.write();
  }

  body() {
    const name = this.name.value.trim();
    return { ...this.request, language: current(), ...(name ? { applicant: name } : {}) };
  }

  write() {
    return this.ask("letter_ready", "letter_fail", async (signal) => {
      fill(this.frame, await postText("letter", this.body(), signal), () => this.dialog.close());
      this.frame.title = t("letter_title");
    });
  }

  toPdf() {
    return this.ask("letter_saved", "letter_no_pdf", async (signal) => {
      save("letter.pdf", await postBlob("letter", { ...this.body(), format: "pdf" }, signal));
    });
  }

  // one request at a time; what comes of it is said, and the buttons wait for it
  async ask(good, bad, work) {
    if (this.control) this.control.abort();
    this.control = new AbortController();
    const { signal } = this.control;
    const note = byId("letter-note");
    const buttons = [byId("letter-print"), byId("letter-pdf")];
    note.replaceChildren(t("letter_wait"));
    for (const button of buttons) button.disabled = true;
    try {
      await work(signal);
      note.replaceChildren(t(good));
    } catch (error) {
      if (signal.aborted) return;
      note.replaceChildren(h("span", { class: "error" }, t(bad), " ", error.detail || ""));
      if (bad === "letter_fail") return;
    }
    for (const button of buttons) button.disabled = false;
  }
}
