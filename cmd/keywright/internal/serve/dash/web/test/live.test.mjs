// The dashboard of a real `keywright serve`: each page has what is on the server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessible, launch, open, picture } from "./browser.mjs";

const address = process.env.KEYWRIGHT_DASHBOARD;
let browser, target;
before(async () => {
  assert.ok(address, "KEYWRIGHT_DASHBOARD has the address of keywright serve");
  browser = await launch();
  target = (await (await fetch(`${address}api/v1/targets`)).json()).items[0].id;
});
after(() => browser?.close());

// What each page must have of what the test wrote.
const pages = {
  overview: ["", /everykeys[\s\S]*Wrong now[\s\S]*60 dead jobs[\s\S]*Where the keys are[\s\S]*item/],
  entry: ["/e/str", /every:str:\{id\}[\s\S]*Largest keys[\s\S]*every:str:/],
  search: ["/search?key=every:str:7", /is declared[\s\S]*never/],
  findings: ["/findings", /KW5\d\d/],
  undeclared: ["/undeclared", /every:strr:[\s\S]*misspelling[\s\S]*Proposed declaration/],
  queues: ["/queues", /q[\s\S]*60/],
  queue: ["/queues/q/-", /Waiting[\s\S]*5[\s\S]*Dead[\s\S]*60 dead jobs were looked at[\s\S]*waits-0/],
  locks: ["/locks", /every:lk:7[\s\S]*holder-1/],
  entities: ["/entities", /item[\s\S]*200/],
  streams: ["/streams", /every:dur[\s\S]*lag/],
  caches: ["/caches", /ca/],
  rankings: ["/rankings", /every:rank:/],
  server: ["/server", /valkey/i],
  migrations: ["/migrations", /No migration is declared/],
  janitor: ["/janitor", /sweeps[\s\S]*in order[\s\S]*swept/],
};

for (const [mode, options] of Object.entries({ light: {}, dark: { colorScheme: "dark" }, phone: { viewport: { width: 390, height: 844 } } })) {
  test(`pages of a real server, ${mode}`, async () => {
    const { page, said, left, context } = await open(browser, options);
    for (const [name, [path, has]] of Object.entries(pages)) {
      await page.goto("about:blank");
      await page.goto(`${address}#/t/${target}${path}`);
      try {
        await page.waitForFunction((pattern) => !document.querySelector("main .loading") && new RegExp(pattern).test(document.querySelector("main")?.innerText ?? ""), has.source);
      } catch {
        assert.match(await page.locator("main").innerText(), has, name);
      }
      assert.equal(await page.locator(".failed").count(), 0, `${name} has a part that failed`);
      await picture(page, `live-${name}-${mode}`);
      await accessible(page, `${name}, ${mode}`);
      assert.equal(await page.locator("main img").count(), 0, `${name}: a key has become markup`);
    }
    assert.deepEqual(said, [], "the console has errors");
    assert.deepEqual(left, [], "requests left the machine");
    await context.close();
  });
}

test("dead jobs of one error are brought back by a plan", async () => {
  const { page, said, context } = await open(browser, {});
  await page.goto(`${address}#/t/${target}/queues/q/-`);
  await page.getByRole("button", { name: /connect: connection refused/ }).click();
  await page.getByRole("button", { name: /^Retry all 54 that match/ }).click();
  await page.locator("h1 .state.planned").waitFor();
  assert.match(await page.locator("main").innerText(), /queues retry q[\s\S]*Nothing was changed yet/);
  await accessible(page, "a plan");
  await picture(page, "live-plan");
  await page.getByRole("button", { name: "Apply…" }).click();
  await page.getByRole("button", { name: "Apply the plan" }).click();
  await page.locator("h1 .state.done").waitFor();
  assert.match(await page.locator("main").innerText(), /Changed\s+54/);
  await picture(page, "live-plan-done");
  await page.goto(`${address}#/t/${target}/runs`);
  await page.getByRole("link", { name: /queues retry q/ }).waitFor();
  await accessible(page, "runs");
  await page.goto(`${address}#/t/${target}/queues/q/-`);
  await page.getByText("N mailbox unavailable").first().waitFor();
  await page.waitForFunction(() => !/connection refused/.test(document.querySelector("main").innerText)).catch(async () => assert.doesNotMatch(await page.locator("main").innerText(), /connection refused/));
  assert.deepEqual(said, [], "the console has errors");
  await context.close();
});

test("values are shown when they are asked for, and sealed ones never", async () => {
  const { page, said, context } = await open(browser, {});
  const look = async (key, has, hasNot) => {
    await page.goto("about:blank");
    await page.goto(`${address}#/t/${target}/search?key=${encodeURIComponent(key)}`);
    await page.getByRole("button", { name: "Show the value" }).click();
    const panel = page.locator(".panel", { has: page.getByRole("heading", { name: "Value", exact: true }) });
    await panel.getByText(has).first().waitFor();
    if (hasNot) assert.doesNotMatch(await page.locator("main").innerText(), hasNot, key);
    await accessible(page, key);
    await picture(page, `live-value-${key.replaceAll(":", "-")}`);
  };
  await look("every:hsh:1", "Yamada");
  await look("every:sealed:1", "This value is sealed", /s3cret/);
  await look("every:sealeds:1", /^sealed, \d+ B$/, /s3cret/);
  await look("every:lk:7", "This key is of a lock");
  await look("every:zs:1", "the 100 of 300 members with the lowest scores");
  await look("every:dur", "K");
  assert.deepEqual(said, [], "the console has errors");
  await context.close();
});

test("tables come as CSV", async () => {
  for (const path of ["overview", "queues", "locks", "entities", "streams", "caches", "rankings", "undeclared", "findings"]) {
    const response = await fetch(`${address}api/v1/t/${target}/${path}?format=csv`);
    assert.equal(response.status, 200, path);
    assert.match(response.headers.get("content-type"), /text\/csv/, path);
  }
});
