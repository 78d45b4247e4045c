// A page of Debian's Chromium that fails a test by what it prints, and by what axe-core finds.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const pictures = process.env.KEYWRIGHT_SCREENSHOTS || fileURLToPath(new URL("../screenshots", import.meta.url));
mkdirSync(pictures, { recursive: true });

export const launch = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none"] });

/** open gives a page; `said` is what it printed as errors, `left` the requests that left the machine. */
export async function open(browser, { script, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  if (script) await context.addInitScript(script);
  const page = await context.newPage();
  const said = [];
  const left = [];
  page.on("console", (m) => m.type() === "error" && said.push(m.text()));
  page.on("pageerror", (e) => said.push(String(e)));
  page.on("request", (r) => !/^(http:\/\/127\.0\.0\.1:|data:|blob:)/.test(r.url()) && left.push(r.url()));
  return { context, page, said, left };
}

export async function picture(page, name) {
  await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
}

/** accessible holds a page to axe-core's rules. */
export async function accessible(page, name) {
  // axe is given to the page by the debugger, which the page's policy does not rule.
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const words = found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(" | ")}`);
  assert.deepEqual(words, [], `axe on ${name}`);
}
