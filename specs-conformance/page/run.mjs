// Tests the page of `zarr serve` in Chromium: node run.mjs PROGRAM CHROMIUM SCREENSHOTS

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { HOSTILE, NAMES, make } from "./data.mjs";

const [program, executablePath, screenshots] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
mkdirSync(screenshots, { recursive: true });

const folder = mkdtempSync(join(tmpdir(), "zarr-page-"));
make(folder);
const server = spawn(program, ["serve", ...NAMES.map((name) => join(folder, name)), "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise((resolve, reject) => {
  createInterface(server.stdout).once("line", resolve);
  server.once("exit", (code) => reject(new Error(`zarr serve ended with ${code}`)));
});
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--force-color-profile=srgb"] });

// What no test may cause.
const troubles = [];
const requests = [];
let isWatched = true;

// These tests read pixels back, which the page does not.
const isOurs = (message) => message.text().includes("willReadFrequently");

// A page that shows a fragment; `close` it.
async function open(fragment = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  const page = await context.newPage();
  page.on("console", (message) => isWatched && ["error", "warning"].includes(message.type()) && !isOurs(message) && troubles.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => troubles.push(`script: ${error.stack}`));
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    requests.push(request.url());
    if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url())) troubles.push(`a request to ${request.url()}`);
  });
  await page.goto(url + fragment);
  await settled(page);
  return Object.assign(page, { end: () => context.close() });
}

// Nothing is asked for any more, and what came is drawn.
async function settled(page) {
  await page.waitForLoadState("networkidle");
  await page.waitForTimeout(250);
  await page.waitForFunction(() => document.querySelector(".data")?.dataset.busy !== "1");
}

// The address changes, and a readout follows the pointer, a moment after the event: they are waited for, since a machine under
// load takes longer than any fixed time.
async function address(page, holds) {
  try {
    await page.waitForURL((url) => holds(url.href), { timeout: 10000, waitUntil: "commit" });
  } catch {
    assert.fail(`the address is ${page.url()}, and ${holds} does not hold`);
  }
}

async function reads(page, selector, pattern) {
  const until = Date.now() + 10000;
  for (;;) {
    const found = await text(page, selector);
    if (pattern.test(found) || Date.now() > until) {
      assert.match(found, pattern);
      return;
    }
    await page.waitForTimeout(50);
  }
}

const shows = (page, selector, expected) => reads(page, selector, new RegExp(`^${expected.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`));

const text = (page, selector) => page.locator(selector).first().innerText();
const shot = (page, name) => page.screenshot({ path: join(screenshots, `${name}.png`) });

// The pixels of the array in the picture: `width` × `height` of them around the middle, one an element.
const pixels = (page, width, height) => page.evaluate(([width, height]) => {
  const canvas = document.querySelector("canvas.plane");
  const place = (all, part) => Math.round(all / 2 - part / 2);
  const data = canvas.getContext("2d").getImageData(place(canvas.width, width), Math.round(canvas.height / 2 + height / 2) - height, width, height).data;
  return Array.from(data);
}, [width, height]);

// The pixels of `zarr plot --bare`.
async function plotted(page, target, options) {
  const file = join(folder, "plot.png");
  execFileSync(program, ["plot", join(folder, target), "--bare", ...options, "-o", file]);
  return pixelsOfPng(page, readFileSync(file));
}

// Asserts that a picture of the page, one element a pixel, is the one of `zarr plot`; what is transparent there shows stripes here.
async function assertPlotted(fragment, target, options) {
  const blank = await open();
  const plot = await plotted(blank, target, options);
  await blank.end();
  const page = await open(`${fragment}${fragment.includes("?") ? "&" : "?"}view=${plot.width / 2},${plot.height / 2},1`);
  await page.waitForFunction(() => document.querySelector(".data")?.dataset.busy === "0");
  await settled(page);
  const found = await pixels(page, plot.width, plot.height);
  const differs = [];
  for (let at = 0; at < found.length; at += 4) {
    if (plot.data[at + 3] === 255 && [0, 1, 2].some((n) => plot.data[at + n] !== found[at + n])) differs.push([at / 4, plot.data.slice(at, at + 3), found.slice(at, at + 3)]);
  }
  assert.deepEqual(differs.slice(0, 3), [], `${fragment}: ${differs.length} of ${found.length / 4} pixels differ from zarr plot ${options.join(" ")}`);
  assert.ok(new Set(Array.from({ length: found.length / 4 }, (_, n) => found.slice(4 * n, 4 * n + 3).join())).size > 2, `${fragment} is empty`);
  return page;
}

// The pixels of a PNG, by the browser's reader.
async function pixelsOfPng(page, bytes) {
  const blank = await page.context().newPage();
  const found = await blank.evaluate(async (base64) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return { width: image.width, height: image.height, data: Array.from(context.getImageData(0, 0, image.width, image.height).data) };
  }, bytes.toString("base64"));
  await blank.close();
  return found;
}

async function axeFinds(page, what) {
  // As an extension of the browser's would, past the page's own policy.
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
  const lines = found.violations.map(({ id, impact, nodes }) => `${id} (${impact}): ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.failureSummary?.split("\n").slice(1, 2)}`).join("; ")}`);
  assert.deepEqual(lines, [], `axe on ${what}`);
  return found.passes.length;
}

const tests = {
  async "an array is found by the tree, and by a search"() {
    const page = await open();
    assert.equal(await page.locator(".card").count(), NAMES.length);
    await shot(page, "start");
    await page.getByRole("button", { name: "sea.zarr" }).first().click();
    await settled(page);
    await shows(page, "h1", "sea.zarr");
    await shot(page, "group");
    await page.getByRole("treeitem", { name: "temperature" }).click();
    await settled(page);
    await shows(page, "h1", "temperature");
    await reads(page, ".facts", /6 × 37 × 72/);
    await page.getByRole("searchbox").fill("DEP");
    await page.getByRole("treeitem", { name: "sea.zarr/depth" }).click();
    await settled(page);
    await shows(page, "h1", "depth");
    await page.goBack();
    // On a busy machine the page may not have begun to ask for anything yet.
    await page.locator("h1", { hasText: /^temperature$/ }).waitFor();
    await settled(page);
    await shows(page, "h1", "temperature");
    await page.end();
  },

  async "pixels are those of zarr plot"() {
    const cases = [
      ["temperature", 72, 37, ["--by-name", "time=0"], "&at=0,0,0", "-20,25", "viridis"],
      ["temperature", 72, 37, ["--by-name", "time=3"], "&at=3,0,0", "0,28.5", "magma"],
      ["temperature", 72, 37, ["--by-name", "time=5"], "&at=5,0,0", "2,98%", "RdBu_r"],
      ["depth", 72, 37, [], "", "0,3000", "turbo"],
      ["depth", 72, 37, [], "", "full", "cividis"],
      ["depth", 72, 37, ["--log"], "&log=1", "10,4000", "plasma"],
      // What both choose by themselves: of values on both sides of 0, and of others.
      ["temperature", 72, 37, ["--by-name", "time=5"], "&at=5,0,0", null, null],
      ["depth", 72, 37, [], "", null, null],
    ];
    for (const [array, width, height, options, more, range, map] of cases) {
      const file = join(folder, "plot.png");
      const ends = range?.endsWith("%") ? range.split(",").map((end) => `${end.replace("%", "")}%`).join(",") : range;
      const colours = range === null ? [] : [`--range=${ends}`, "--cmap", map];
      execFileSync(program, ["plot", join(folder, "sea.zarr"), "--path", array, "--bare", "--origin", "lower", ...colours, ...options, "-o", file]);
      const chosen = range === null ? "" : `&range=${encodeURIComponent(range)}&map=${map}`;
      const page = await open(`#/sea.zarr/${array}?view=${width / 2},${height / 2},1${chosen}${more}`);
      const plot = await pixelsOfPng(page, readFileSync(file));
      assert.deepEqual([plot.width, plot.height], [width, height]);
      const found = await pixels(page, width, height);
      let [equal, missing] = [0, 0];
      for (let at = 0; at < found.length; at += 4) {
        if (plot.data[at + 3] === 0) missing++;
        else if ([0, 1, 2, 3].every((n) => plot.data[at + n] === found[at + n])) equal++;
      }
      assert.equal(equal + missing, width * height, `${array} ${range} ${map}: ${equal} equal and ${missing} missing`);
      assert.ok(missing > 100 && equal > 1000);
      if (range === null) assert.equal((await text(page, ".ends span")).startsWith("−"), array === "temperature");
      await page.end();
    }
  },

  async "small pictures are of means, of labels the middle ones, and say so"() {
    // Each pixel of the screen is of 2 × 2 elements.
    const view = "view=36,18.5,0.5&range=0,25&map=gray";
    const page = await open(`#/sea.zarr/temperature?${view}`);
    await shows(page, ".block", "Each pixel is the mean of 2 × 2 elements.");
    await shot(page, "means");
    const mean = await page.evaluate(async () => {
      const { slice } = await import("/-/page/api.js");
      const { reduced } = await import("/-/page/colour.js");
      const at = { path: "sea.zarr/temperature", x: 2, y: 1, at: "0,0,0" };
      const whole = await slice({ ...at, across: "0:72:1", down: "0:37:1" });
      const blocks = await slice({ ...at, across: "0:72:2", down: "0:37:2", reduce: "mean" });
      const own = reduced(whole, 2, 2, false);
      const equal = own.values.filter((value, n) => Math.abs(value - blocks.values[n]) < 1e-12 || (Number.isNaN(value) && Number.isNaN(blocks.values[n])));
      return [own.values.length, blocks.values.length, equal.length, blocks.reduced];
    });
    assert.deepEqual(mean, [36 * 19, 36 * 19, 36 * 19, "mean"]);
    await page.end();
    const labels = await open(`#/sea.zarr/temperature?${view}&labels=1`);
    assert.equal(await text(labels, ".block"), "Each pixel is the middle one of 2 × 2 elements.");
    await labels.end();
  },

  async "sliders move by keys, steps and play, and show coordinates"() {
    const page = await open("#/sea.zarr/temperature");
    await shows(page, ".coordinate", "2001-01-01");
    const before = await pixels(page, 72, 37);
    const slider = page.getByRole("slider", { name: "time" });
    await slider.focus();
    await page.keyboard.press("ArrowRight");
    await settled(page);
    await shows(page, ".coordinate", "2001-02-01");
    assert.match(await slider.getAttribute("aria-valuetext"), /2001-02-01, index 1/);
    assert.notDeepEqual(await pixels(page, 72, 37), before);
    await page.getByRole("button", { name: "Next of time" }).click();
    await page.getByRole("spinbutton", { name: "Index of time" }).fill("5");
    await page.keyboard.press("Enter");
    await settled(page);
    await shows(page, ".coordinate", "2001-06-05");
    const rate = page.getByRole("combobox", { name: "Positions per second while playing" });
    assert.equal(await rate.inputValue(), "6");
    await rate.selectOption("12");
    await page.getByRole("button", { name: "Play along time" }).click();
    await page.waitForFunction(() => ["1", "2", "3"].includes(document.querySelector(".index").value));
    await page.getByRole("button", { name: "Play along time" }).click();
    await page.waitForTimeout(300);
    const stopped = await page.locator(".index").inputValue();
    await page.waitForTimeout(500);
    assert.equal(await page.locator(".index").inputValue(), stopped);
    await page.end();
  },

  async "values under the pointer, and a line through a point"() {
    const page = await open("#/sea.zarr/temperature?at=2,0,0");
    const canvas = page.locator("canvas.plane");
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + box.width * 0.05, box.y + box.height * 0.5);
    await reads(page, ".below .readout", /^[23][0-9.]+ degC at lat 0° \(18\), lon 15°E \(3\)$/);
    await page.mouse.click(box.x + box.width * 0.05, box.y + box.height * 0.5);
    await settled(page);
    assert.equal(await page.locator(".line svg.drawing path.line").count(), 1);
    assert.match(await page.locator(".line svg.drawing").getAttribute("aria-label"), /temperature along time/);
    await shot(page, "line");
    // A click into the line moves the slider.
    const line = await page.locator(".line svg.drawing").boundingBox();
    await page.mouse.click(line.x + line.width * 0.95, line.y + 60);
    await settled(page);
    assert.equal(await page.locator(".index").inputValue(), "5");
    // Land is missing.
    await page.keyboard.press("Escape");
    const { value } = await page.evaluate(async () => {
      const answer = await fetch("/-/value?path=sea.zarr/temperature&at=0,18,42");
      return { value: await answer.json() };
    });
    assert.deepEqual([value.missing, value.stored, value.coordinates], [true, "-32768", ["2001-01-01", "0", "210"]]);
    await page.end();
  },

  async "a link gives the same view"() {
    const page = await open("#/sea.zarr/temperature?at=4,0,0&map=inferno");
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.locator("canvas.plane").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByRole("combobox", { name: "Range of the colours" }).selectOption("full");
    await page.getByRole("button", { name: "Reverse the colours" }).click();
    await page.mouse.move(5, 500);
    await settled(page);
    await page.waitForTimeout(400);
    const seen = (page) => page.evaluate(() => ({
      picture: document.querySelector("canvas.plane").toDataURL(), index: document.querySelector(".index").value, over: document.querySelector("canvas.over").toDataURL(),
      readout: document.querySelector(".below .readout").textContent, line: document.querySelector(".line path.line").getAttribute("d"),
    }));
    const link = page.url();
    const again = await open(link.slice(url.length));
    assert.deepEqual(await seen(again), await seen(page));
    assert.match(link, /at=4,0,0.*map=inferno.*view=.*point=.*range=full.*reversed=1/);
    await page.end();
    await again.end();
  },

  async "axes are swapped and chosen"() {
    const page = await open("#/sea.zarr/temperature");
    await page.keyboard.press("s");
    await settled(page);
    assert.equal(await page.getByRole("combobox", { name: "Axis across" }).inputValue(), "1");
    await page.getByRole("combobox", { name: "Axis down" }).selectOption("0");
    await settled(page);
    assert.equal(await page.getByRole("slider").first().evaluate((slider) => slider.labels[0].textContent), "lon");
    await address(page, (url) => /x=1&y=0/.test(url));
    await page.end();
  },

  async "an image is read at the level that is seen"() {
    requests.length = 0;
    const page = await open("#/cells.zarr", { viewport: { width: 1360, height: 760 } });
    await page.getByRole("button", { name: "Open the image" }).click();
    await settled(page);
    const levels = () => new Set(requests.filter((request) => request.includes("/-/slice")).map((request) => new URL(request).searchParams.get("path")));
    assert.deepEqual([...levels()], ["cells.zarr/1"]);
    await shot(page, "image");
    for (let n = 0; n < 3; n++) await page.getByRole("button", { name: "Zoom in" }).click();
    await settled(page);
    assert.deepEqual([...levels()].sort(), ["cells.zarr/0", "cells.zarr/1"]);
    const coloured = await page.locator("canvas.plane").evaluate((canvas) => canvas.toDataURL());
    await page.getByRole("checkbox", { name: "DNA" }).uncheck();
    await settled(page);
    assert.notEqual(await page.locator("canvas.plane").evaluate((canvas) => canvas.toDataURL()), coloured);
    await page.end();
  },

  async "channels have windows and colours, which links and zarr plot have, too"() {
    const pairs = [
      ["#/tissue.zarr/0", []],
      ["#/tissue.zarr/0?windows=0:100:400,1:20:250.5", ["--window", "DAPI=100:400", "--window", "1=20:250.5"]],
      ["#/tissue.zarr/0?windows=0:auto&hidden=b", ["--window", "DAPI=auto", "--channels", "DAPI"]],
      ["#/plain.zarr/0", []],
      ["#/plain.zarr/0?windows=2:0:500&hidden=a", ["--window", "2=0:500", "--channels", "1,2"]],
      ["#/cells.zarr/2", []],
      // A channel alone, by a colour map, keeps the window that the image declares.
      ["#/tissue.zarr/0?mix=no&at=1,0,5,0,0", ["--by-name", "c=0", "--cmap", "gray"]],
      ["#/odd.zarr/colours", []],
    ];
    for (const [fragment, options] of pairs) {
      const page = await assertPlotted(fragment, fragment.slice(2).split("?")[0], options);
      await page.end();
    }
    const page = await open("#/tissue.zarr/0");
    await page.getByRole("button", { name: "Window and colour of DAPI" }).click();
    const low = page.getByRole("textbox", { name: "Lowest value of DAPI" });
    assert.deepEqual([await low.inputValue(), await page.getByRole("textbox", { name: "Highest value of DAPI" }).inputValue()], ["100", "900"]);
    await shot(page, "channel");
    await low.fill("300");
    await low.press("Enter");
    await low.press("ArrowUp");
    await page.getByLabel("Colour of DAPI", { exact: true }).fill("#00ff00");
    await settled(page);
    await address(page, (url) => /windows=0:306:900&colours=0:00ff00/.test(url));
    // Alone it keeps both, and another plane changes neither.
    await page.getByRole("button", { name: "Only DAPI" }).click();
    await page.getByRole("button", { name: "Next of z" }).click();
    await settled(page);
    assert.equal(await low.inputValue(), "306");
    await address(page, (url) => /hidden=b.*at=1,0,6,0,0/.test(url));
    const again = await open(page.url().slice(url.length));
    const seen = (page) => page.locator("canvas.plane").evaluate((canvas) => canvas.toDataURL());
    assert.equal(await seen(again), await seen(page));
    await again.end();
    await page.getByRole("button", { name: "Only DAPI" }).click();
    await page.getByRole("button", { name: "Auto" }).click();
    assert.notEqual(await low.inputValue(), "306");
    await page.getByRole("button", { name: "Declared" }).click();
    assert.equal(await low.inputValue(), "100");
    const histogram = await page.getByRole("img", { name: "Histogram of DAPI" }).boundingBox();
    await page.mouse.click(histogram.x + histogram.width * 0.9, histogram.y + 20);
    assert.notEqual(await page.getByRole("textbox", { name: "Highest value of DAPI" }).inputValue(), "900");
    await page.end();
  },

  async "an image of five axes opens where it says, else in the middle of z"() {
    const page = await open("#/tissue.zarr");
    await page.getByRole("button", { name: "Open the image" }).click();
    await settled(page);
    assert.deepEqual(await page.locator(".index").evaluateAll((all) => all.map(({ value }) => value)), ["1", "5"]);
    await shot(page, "five-axes");
    await page.goto(`${url}#/tissue.zarr/labels/nuclei/0`);
    await settled(page);
    assert.deepEqual(await page.locator(".index").evaluateAll((all) => all.map(({ value }) => value)), ["0", "4"]);
    await page.end();
  },

  async "the range stays while others are shown, or is of each plane, or of all"() {
    const page = await open("#/sea.zarr/temperature");
    const ends = () => page.locator(".colours .ends").first().innerText();
    const first = await ends();
    const next = page.getByRole("button", { name: "Next of time" });
    await next.click();
    await settled(page);
    assert.equal(await ends(), first);
    await page.waitForTimeout(300);
    const again = await open(page.url().slice(url.length));
    assert.equal(await again.locator(".colours .ends").first().innerText(), first, "the link has the range");
    await again.end();
    const keep = page.getByRole("combobox", { name: "Range while moving" });
    await keep.selectOption("plane");
    const second = await ends();
    assert.notEqual(second, first);
    await keep.selectOption("all");
    await settled(page);
    await reads(page, ".below .readout", /of all 6 planes/);
    const all = await ends();
    assert.ok(all !== first && all !== second);
    await next.click();
    await settled(page);
    assert.equal(await ends(), all);
    await page.end();
    // Of channels as well.
    const image = await open("#/tissue.zarr/0");
    await image.getByRole("button", { name: "Window and colour of actin" }).click();
    const high = image.getByRole("textbox", { name: "Highest value of actin" });
    const before = await high.inputValue();
    await image.getByRole("button", { name: "Next of z" }).click();
    await settled(image);
    assert.equal(await high.inputValue(), before);
    await image.getByRole("combobox", { name: "Range while moving" }).selectOption("plane");
    await image.getByRole("button", { name: "Next of z" }).click();
    await settled(image);
    assert.notEqual(await high.inputValue(), before);
    await image.end();
  },

  async "sliders are in view on a small screen, and the picture fills a full one"() {
    for (const fragment of ["#/tissue.zarr/0", "#/sea.zarr/temperature"]) {
      const page = await open(fragment, { viewport: { width: 1280, height: 720 } });
      const box = await page.locator(".sliders").boundingBox();
      assert.ok(box.y + box.height <= 720, `${fragment}: the sliders end at ${box.y + box.height}`);
      await shot(page, `small-screen-${fragment.split(".")[0].slice(2)}`);
      const before = await page.locator("canvas.plane").boundingBox();
      await page.keyboard.press("f");
      await page.waitForFunction(() => document.fullscreenElement);
      await page.waitForFunction((height) => document.querySelector("canvas.plane").getBoundingClientRect().height > height, before.height);
      const sliders = await page.locator(".sliders").boundingBox();
      assert.ok(sliders.y + sliders.height <= 720);
      await shot(page, `full-screen-${fragment.split(".")[0].slice(2)}`);
      await page.keyboard.press("f");
      await page.waitForFunction(() => !document.fullscreenElement);
      await page.end();
    }
  },

  async "equal units have equal scale, and a bar says which"() {
    // A pixel along z is four along x.
    const page = await open("#/tissue.zarr/0?x=4&y=2");
    const drawn = () => page.evaluate(() => {
      const view = new URLSearchParams(location.hash.split("?")[1]).get("view");
      return view;
    });
    await page.getByRole("button", { name: "Zoom in" }).click();
    await settled(page);
    await address(page, (url) => /view=/.test(url));
    const [, , zx, zy] = (await drawn()).split(",").map(Number);
    assert.ok(Math.abs(zy / zx - 4) < 1e-3, `${zx} and ${zy}`);
    assert.match(await page.locator(".picture").getAttribute("data-scale"), /^[125]0* µm$/);
    await shot(page, "section");
    await page.end();
    // Degrees are no lengths.
    const map = await open("#/sea.zarr/temperature");
    assert.equal(await map.locator(".picture").getAttribute("data-scale"), null);
    await map.end();
  },

  async "the value of every channel is under the pointer"() {
    const page = await open("#/tissue.zarr/0?hidden=b");
    const box = await page.locator("canvas.plane").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await reads(page, ".below .readout", /^DAPI \d+, actin \d+ at y 12 µm \(24\), x 16 µm \(32\)$/);
    await page.end();
  },

  async "labels are over the image, in their colours"() {
    for (const [opacity, more] of [["0.5", ""], ["0.3", "&opacity=0.3"]]) {
      const page = await assertPlotted(`#/tissue.zarr/0?overlay=nuclei${more}`, "tissue.zarr/0", ["--overlay", `nuclei:${opacity}`]);
      await page.end();
    }
    await (await assertPlotted("#/tissue.zarr/labels/nuclei/0", "tissue.zarr/labels/nuclei/0", [])).end();
    const page = await open("#/tissue.zarr/0");
    await page.getByRole("checkbox", { name: "nuclei" }).check();
    await settled(page);
    await shot(page, "labels");
    const box = await page.locator("canvas.plane").boundingBox();
    // The element (36, 8) of 64 × 48.
    const each = Math.min(box.width / 64, box.height / 48);
    await page.mouse.move(box.x + box.width / 2 + 4.5 * each, box.y + box.height / 2 - 15.5 * each);
    await reads(page, ".below .readout", /^DAPI \d+, actin \d+, nuclei 3 at/);
    const slider = page.getByRole("slider", { name: "Opacity of the labels" });
    await slider.focus();
    await page.keyboard.press("ArrowRight");
    await address(page, (url) => /overlay=nuclei&opacity=0.55/.test(url));
    await page.end();
  },

  async "a rectangle and a line are measured"() {
    const page = await open("#/tissue.zarr/0");
    await page.keyboard.press("r");
    await page.getByRole("combobox", { name: "Shape of the region" }).waitFor();
    for (const [name, value] of [["x from", 0], ["x to", 1], ["y from", 10], ["y to", 11]]) await page.getByRole("spinbutton", { name }).fill(String(value)), await page.keyboard.press("Enter");
    await settled(page);
    await address(page, (url) => /region=rectangle:0:10:1:11/.test(url));
    const values = await page.evaluate(async () => {
      const { slice } = await import("/-/page/api.js");
      return [...(await slice({ path: "tissue.zarr/0", x: 4, y: 3, at: "1,1,5,0,0", across: "0:2:1", down: "10:12:1" })).values];
    });
    const mean = values.reduce((a, b) => a + b, 0) / 4;
    const cells = (await page.locator("table.region tbody tr").nth(1).innerText()).split("\t");
    assert.deepEqual([cells[0], cells[1], Number(cells[2]), Number(cells[4]), Number(cells[5])], ["actin", "4", mean, Math.min(...values), Math.max(...values)]);
    await shot(page, "region");
    await axeFinds(page, "a region");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as CSV" }).click()]);
    await download.saveAs(join(screenshots, "region.csv"));
    const lines = readFileSync(join(screenshots, "region.csv"), "utf8").trim().split("\r\n");
    assert.deepEqual([lines.length, lines[0], lines[5]], [9, "channel,y,x,value", `actin,10,0,${values[0]}`]);
    // Drawn with the mouse, as a line.
    await page.getByRole("combobox", { name: "Shape of the region" }).selectOption("line");
    const box = await page.locator("canvas.plane").boundingBox();
    await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    await settled(page);
    await address(page, (url) => /region=line:1\d:24:32:24/.test(url));
    assert.equal(await page.locator(".result svg.drawing").count(), 2);
    await shot(page, "profile");
    const again = await open(page.url().slice(url.length));
    await again.locator(".result svg.drawing").first().waitFor();
    await again.end();
    await page.getByRole("button", { name: "Close the region" }).click();
    await address(page, (url) => !url.includes("region="));
    await page.end();
  },

  async "planes at right angles go through the point, and a click in one moves the others"() {
    const page = await open("#/tissue.zarr/0?point=36,8");
    await page.keyboard.press("o");
    await page.locator(".pair canvas.plane").nth(1).waitFor();
    await settled(page);
    await address(page, (url) => /depth=2/.test(url));
    const [across, down] = [page.getByLabel(/^x across, z down, y /), page.getByLabel(/^y across, z down, x /)];
    await shot(page, "planes");
    await axeFinds(page, "planes at right angles");
    // A click in the middle of the first: z 4 of 9, x 32 of 64; y stays.
    await across.scrollIntoViewIfNeeded();
    const box = await across.boundingBox();
    await page.mouse.click(box.x + box.width / 2 + 1, box.y + box.height / 2);
    await settled(page);
    await address(page, (url) => /at=1,0,4,0,0/.test(url));
    await address(page, (url) => /point=32,8/.test(url));
    assert.match(await down.getAttribute("aria-label"), /y across, z down, x (16 µm|32)/);
    // The value there is that of the element.
    await page.mouse.move(box.x + box.width / 2 + 2, box.y + box.height / 2 + 1);
    await page.waitForTimeout(400);
    const due = await page.evaluate(async () => {
      const { json } = await import("/-/page/api.js");
      return (await json("value", { path: "tissue.zarr/0", at: "1,0,4,8,32" })).text;
    });
    const said = await text(page, ".below .readout");
    assert.ok(said.startsWith(`DAPI ${due},`) && said.includes("z"), `${said}: ${due}`);
    // By keys, too: the point moves along y in the other.
    await down.focus();
    await page.keyboard.press("Shift+ArrowRight");
    await settled(page);
    await address(page, (url) => /point=32,9/.test(url));
    const again = await open(page.url().slice(url.length));
    await again.locator(".pair canvas.plane").nth(1).waitFor();
    await again.end();
    await page.getByRole("button", { name: "Close the planes" }).click();
    await address(page, (url) => !url.includes("depth="));
    await page.end();
  },

  async "another array is beside, moves along, and is subtracted"() {
    const page = await open("#/air.zarr/wind");
    await page.keyboard.press("c");
    const input = page.getByLabel("Array to compare with");
    await input.fill("air.zarr/land");
    await page.keyboard.press("Enter");
    await settled(page);
    await reads(page, ".comparison .readout", /has the shape 19 × 36: expected 7 × 19/);
    assert.deepEqual(await page.locator(".comparison datalist option").evaluateAll((all) => all.map(({ value }) => value)), ["air.zarr/model"]);
    await input.fill("air.zarr/model");
    await page.keyboard.press("Enter");
    await page.locator(".comparison canvas.plane").waitFor();
    await settled(page);
    await address(page, (url) => /with=air.zarr%2Fmodel/.test(url));
    await page.locator("canvas.plane").first().focus();
    await page.keyboard.press("+");
    await settled(page);
    const zooms = await page.evaluate(() => [...document.querySelectorAll(".sides canvas.plane")].map((canvas) => canvas.width > 0));
    assert.deepEqual(zooms, [true, true]);
    await shot(page, "beside");
    await axeFinds(page, "two arrays");
    await page.keyboard.press("0");
    await page.getByLabel("How it is compared").selectOption("difference");
    await settled(page);
    await shows(page, ".comparison .readout", "this array minus the other: 38 of 133 elements differ, by 2 at most; colours from −2 to 2.");
    await shot(page, "difference");
    const again = await open(page.url().slice(url.length));
    await again.locator(".comparison canvas.plane").waitFor();
    await settled(again);
    assert.match(await text(again, ".comparison .readout"), /38 of 133/);
    await again.end();
    await page.getByRole("button", { name: "Close the comparison" }).click();
    await address(page, (url) => !url.includes("with="));
    await page.end();
  },

  async "a plate is a grid of wells, and a click opens the image of a field"() {
    const page = await open("#/plate.zarr");
    await reads(page, ".facts", /rows\s+2\s+columns\s+3\s+wells\s+3\s+fields\s+3\s+acquisitions\s+2/);
    const wells = () => page.getByRole("grid").getByRole("button").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
    assert.deepEqual(await wells(), ["A1, field 0", "A3, field 0", "B2, field 0"]);
    await page.waitForFunction(() => [...document.querySelectorAll(".wells img")].every((image) => image.complete && image.naturalWidth === 64));
    await shot(page, "plate");
    // Equal values look the same in all wells: A3 has half of those of A1.
    const brightness = await page.evaluate(() => [...document.querySelectorAll(".wells img")].map((image) => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [64, 64];
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, 64, 64).data.reduce((all, value, n) => all + (n % 4 === 1 ? value : 0), 0);
    }));
    assert.ok(Math.abs(brightness[1] / brightness[0] - 0.5) < 0.02, `${brightness}`);
    // One well is reached by Tab, the others by arrows.
    await page.getByRole("button", { name: "A1, field 0" }).focus();
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    await page.keyboard.press("ArrowRight");
    assert.equal(await focused(), "A3, field 0");
    await page.keyboard.press("ArrowDown");
    assert.equal(await focused(), "A3, field 0");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await focused(), "A1, field 0");
    assert.equal(await page.locator(".wells [tabindex='0']").count(), 1);
    await page.getByRole("combobox", { name: "Acquisition" }).selectOption("day 2");
    assert.deepEqual(await wells(), ["A1, field 2", "B2, field 0"]);
    await page.getByRole("combobox", { name: "Acquisition" }).selectOption("all acquisitions");
    await page.getByRole("combobox", { name: "Field" }).selectOption("field 3 of 3");
    assert.deepEqual(await wells(), ["A1, field 2"]);
    await address(page, (url) => /#\/plate.zarr\?field=2$/.test(url));
    await page.getByRole("button", { name: "A1, field 2" }).focus();
    await page.keyboard.press("Enter");
    await page.locator("canvas.plane").waitFor();
    await settled(page);
    await address(page, (url) => /#\/plate.zarr\/A\/1\/2\/0$/.test(url));
    await page.goBack();
    await page.getByRole("button", { name: "A1, field 2" }).waitFor();
    await settled(page);
    assert.deepEqual(await wells(), ["A1, field 2"]);
    // A well has its fields.
    await page.goto(`${url}#/plate.zarr/A/1`);
    await settled(page);
    assert.deepEqual(await page.locator("#panel h2").allInnerTexts(), ["Acquisition 0", "Acquisition 3"]);
    await shot(page, "well");
    await page.locator(".card.field").nth(1).click();
    await page.locator("canvas.plane").waitFor();
    await settled(page);
    await address(page, (url) => /#\/plate.zarr\/A\/1\/1\/0$/.test(url));
    await page.end();
  },

  async "what is up is above, and values have names"() {
    // The first row is 1000 hPa, and 10 m: both are below.
    for (const name of ["wind", "mast"]) {
      const page = await open(`#/air.zarr/${name}?map=gray&range=full`);
      const [top, bottom] = await page.evaluate(() => {
        const canvas = document.querySelector("canvas.plane");
        const data = (y) => canvas.getContext("2d").getImageData(canvas.width / 2, y, 1, 1).data[0];
        return [data(4), data(canvas.height - 4)];
      });
      assert.deepEqual([top, bottom], [255, 0], name);
      await shot(page, name);
      await page.end();
    }
    const page = await assertPlotted("#/air.zarr/land", "air.zarr/land", []);
    await reads(page, ".names", /water\s+0\s+forest\s+10\s+desert\s+20/);
    await page.goto(`${url}#/air.zarr/land`);
    await settled(page);
    await shot(page, "names");
    const box = await page.locator("canvas.plane").boundingBox();
    await page.mouse.move(box.x + 5, box.y + 5);
    await reads(page, ".below .readout", /^water \(0\) at lat 90°N \(0\), lon 180° \(0\)$/);
    await page.end();
  },

  async "coasts are on maps"() {
    const over = (page) => page.locator("canvas.over").evaluate((canvas) => canvas.toDataURL());
    for (const fragment of ["#/sea.zarr/temperature", "#/air.zarr/land"]) {
      const page = await open(fragment);
      await shot(page, `coast-${fragment.split(".")[0].slice(2)}`);
      const before = await over(page);
      await page.getByRole("checkbox", { name: "coast and grid" }).uncheck();
      await settled(page);
      assert.notEqual(await over(page), before);
      await address(page, (url) => /coast=0/.test(url));
      await page.end();
    }
    // A picture of other axes has none.
    const page = await open("#/sea.zarr/temperature?x=0&y=1");
    assert.equal(await page.getByRole("checkbox", { name: "coast and grid" }).isVisible(), false);
    await page.end();
  },

  async "a figure is saved"() {
    const page = await open("#/sea.zarr/temperature?at=2,0,0&map=magma");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as PNG" }).click()]);
    assert.equal(download.suggestedFilename(), "temperature.png");
    await download.saveAs(join(screenshots, "saved.png"));
    const { width, height } = await pixelsOfPng(page, readFileSync(join(screenshots, "saved.png")));
    assert.ok(width === 1000 && height > 400);
    await page.end();
    const image = await open("#/tissue.zarr/0?windows=0:100:400&colours=1:ff00ff&overlay=nuclei");
    const [second] = await Promise.all([image.waitForEvent("download"), image.getByRole("button", { name: "Save as PNG" }).click()]);
    await second.saveAs(join(screenshots, "saved-channels.png"));
    assert.match(second.url(), /channels=0%2C1&window=0%3D100%3A400&color=0%3D0080ff/);
    await image.end();
  },

  async "an array of any size is shown in part"() {
    requests.length = 0;
    const page = await open("#/sea.zarr/huge");
    await reads(page, ".below .readout", /Too large to be shown whole/);
    assert.ok(requests.filter((request) => request.includes("/-/slice")).length >= 1);
    await page.end();
  },

  async "chunks, metadata, values and snippets"() {
    const page = await open("#/sea.zarr/holes?tab=chunks");
    await reads(page, ".big", /1 of 16 chunks are stored, 100 B/);
    await shot(page, "chunks");
    await page.getByRole("tab", { name: "Statistics" }).click();
    await page.locator("table.numbers").waitFor();
    await reads(page, "table.numbers", /valid values\s+1,600[\s\S]*highest\s+7 at \[10, 20\][\s\S]*median\s+0/);
    await page.getByRole("tab", { name: "Metadata" }).click();
    await reads(page, "pre", /"chunk_shape": \[10, 10\]/);
    await page.getByRole("tab", { name: "Open in" }).click();
    await reads(page, "#panel", /tensorstore/);
    await page.goto(`${url}#/odd.zarr/texts`);
    await settled(page);
    await reads(page, "table.elements", /abc[\s\S]*<b>x/);
    await page.goto(`${url}#/odd.zarr/big?tab=values`);
    await settled(page);
    await reads(page, "table.elements", /18446744073709551615/);
    await page.end();
  },

  async "the lines of Open in do what they say"() {
    const work = mkdtempSync(join(tmpdir(), "zarr-open-in-"));
    const inShell = (bin, code) => execFileSync("sh", ["-ec", code], { cwd: work, env: { ...process.env, PATH: `${bin}:${process.env.PATH}` }, encoding: "utf8" });
    const { ZARR_PYTHON, TENSORSTORE_PYTHON, OME_ZARR } = process.env;
    const runners = {
      "zarr-python": ZARR_PYTHON && ((code) => execFileSync(ZARR_PYTHON, ["-c", code], { cwd: work, encoding: "utf8" })),
      xarray: ZARR_PYTHON && ((code) => execFileSync(ZARR_PYTHON, ["-W", "ignore", "-c", code], { cwd: work, encoding: "utf8" })),
      tensorstore: TENSORSTORE_PYTHON && ((code) => execFileSync(TENSORSTORE_PYTHON, ["-c", code], { cwd: work, encoding: "utf8" })),
      "ome-zarr": OME_ZARR && ((code) => inShell(dirname(OME_ZARR), code)),
      zarr: (code) => inShell(dirname(program), code),
    };
    const answers = {
      "#/cells.zarr": { "zarr-python": /\b0\b/, "ome-zarr": /multiscales|pixel|shape/i, zarr: /channels?/ },
      "#/cells.zarr/0": { "zarr-python": /uint16/i, tensorstore: /\(2, \d+, \d+\)/, zarr: /uint16/ },
      "#/air.zarr": { xarray: /Dimensions/ },
    };
    for (const [fragment, expected] of Object.entries(answers)) {
      const page = await open(`${fragment}?tab=open`);
      const found = Object.fromEntries(await page.evaluate(() => [...document.querySelectorAll("#panel h2")].map((title) => [title.textContent, title.nextElementSibling.querySelector("pre").textContent])));
      if (fragment === "#/cells.zarr") assert.match(found.napari, /napari-ome-zarr '?http/);
      if (fragment.startsWith("#/cells.zarr")) assert.match(found.neuroglancer, /^zarr2:\/\/http/);
      assert.match(found.Rust, /package = "zarrkit"/);
      for (const [name, answer] of Object.entries(expected)) {
        if (runners[name]) assert.match(runners[name](found[name]), answer, `${name} of ${fragment}: ${found[name]}`);
        else console.log(`not run: the lines for ${name}`);
        rmSync(join(work, "copy.zarr"), { recursive: true, force: true });
      }
      await page.end();
    }
    rmSync(work, { recursive: true });
  },

  async "an array without values has no range"() {
    const page = await open("#/odd.zarr/nothing");
    await shows(page, ".colours .ends", "no values");
    assert.equal(await page.getByRole("textbox", { name: "Lowest value of the colours" }).inputValue(), "");
    await shot(page, "no-values");
    await page.goto(`${url}#/odd.zarr/no%20line`);
    await settled(page);
    assert.match(await page.locator("svg.drawing").textContent(), /no values/);
    await page.end();
  },

  async "a broken node is told in the tree"() {
    isWatched = false;
    const page = await open("#/odd.zarr");
    assert.match(await page.getByRole("treeitem", { name: "broken" }).textContent(), /broken broken/);
    assert.match(await page.locator(".card .trouble").textContent(), /JSON/);
    await shot(page, "broken-child");
    await page.end();
    isWatched = true;
  },

  async "hostile names and attributes are text"() {
    const page = await open("#/odd.zarr?tab=metadata");
    await reads(page, "#panel", /<img src=x onerror=window.pwned=1>/);
    for (const name of HOSTILE) {
      for (const tab of ["data", "values", "chunks", "metadata", "open"]) {
        await page.goto(`${url}#/odd.zarr/${encodeURIComponent(name)}?tab=${tab}`);
        await settled(page);
        assert.equal(await text(page, "h1"), name);
        assert.ok(!(await page.evaluate(() => "pwned" in window)), name);
      }
    }
    assert.equal(await page.locator("main img, #side img, main script").count(), 0);
    assert.equal(await page.locator("a[href]").count(), 0, "controls are buttons");
    await shot(page, "hostile");
    await page.end();
  },

  async "the keyboard reaches everything and is not trapped"() {
    const page = await open("#/sea.zarr/temperature");
    const reached = new Set();
    for (let n = 0; n < 60; n++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => {
        const element = document.activeElement;
        return element === document.body ? "body" : (element.getAttribute("aria-label") ?? element.id ?? element.textContent);
      }));
    }
    for (const name of ["Copy a link to what is seen", "Find a node by its name", "Zoom in", "Colour map", "Axis across", "Index of time"]) assert.ok(reached.has(name), name);
    assert.ok(reached.has("body") || reached.size > 20, "focus leaves the page");
    await page.locator("h1").click();
    await page.keyboard.press("?");
    assert.ok(await page.locator("dialog").isVisible());
    await shot(page, "help");
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    // The tree, as ARIA's pattern has it.
    await page.getByRole("treeitem", { name: "temperature" }).focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await settled(page);
    assert.notEqual(await text(page, "h1"), "temperature");
    await page.end();
  },

  async "labels and contrast, in light and dark"() {
    for (const colorScheme of ["light", "dark"]) {
      for (const [name, fragment] of Object.entries({
        start: "", group: "#/sea.zarr", data: "#/sea.zarr/temperature?point=10,10", image: "#/cells.zarr/0", plate: "#/plate.zarr", well: "#/plate.zarr/A/1", tissue: "#/tissue.zarr/0?overlay=nuclei", names: "#/air.zarr/land", line: "#/sea.zarr/mean", statistics: "#/sea.zarr/temperature?tab=statistics", values: "#/sea.zarr/temperature?tab=values",
        chunks: "#/sea.zarr/holes?tab=chunks", metadata: "#/cells.zarr?tab=metadata", snippets: "#/odd.zarr/big?tab=open", broken: "#/odd.zarr/broken",
      })) {
        isWatched = name !== "broken";
        const page = await open(fragment, { colorScheme });
        await shot(page, `${name}-${colorScheme}`);
        await axeFinds(page, `${name}, ${colorScheme}`);
        if (name === "broken") await reads(page, "[role=alert]", /\.zarray/);
        await page.end();
        isWatched = true;
      }
    }
    const page = await open("#/sea.zarr/temperature");
    await page.keyboard.press("?");
    await axeFinds(page, "help");
    const editor = await open("#/tissue.zarr/0");
    await editor.getByRole("button", { name: "Window and colour of DAPI" }).click();
    await axeFinds(editor, "the window of a channel");
    await editor.end();
    await page.keyboard.press("Escape");
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.getByRole("button", { name: "Light or dark" }).click();
    assert.notEqual(await ground(), light);
    await page.reload();
    await settled(page);
    assert.notEqual(await ground(), light, "the choice is kept");
    await page.end();
  },

  async "a wide screen"() {
    for (const [name, fragment] of Object.entries({ map: "#/sea.zarr/temperature?point=10,10", image: "#/tissue.zarr/0?overlay=nuclei", plate: "#/plate.zarr", beside: "#/air.zarr/wind?with=air.zarr%2Fmodel" })) {
      const page = await open(fragment, { viewport: { width: 2560, height: 1300 } });
      await shot(page, `wide-${name}`);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(overflow <= 0, `${name}: ${overflow} pixels beside the screen`);
      await page.end();
    }
  },

  async "a phone"() {
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
    const page = await open("#/sea.zarr/temperature", phone);
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok((await overflow()) <= 0, `${await overflow()} pixels beside the screen`);
    await shot(page, "phone");
    await axeFinds(page, "phone");
    await page.getByRole("button", { name: "Nodes" }).tap();
    await page.waitForTimeout(300);
    await shot(page, "phone-tree");
    await page.getByRole("treeitem", { name: "depth" }).tap();
    await settled(page);
    await shows(page, "h1", "depth");
    // Two fingers apart: larger.
    const box = await page.locator("canvas.plane").boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const session = await page.context().newCDPSession(page);
    const touch = (type, ...points) => session.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([dx], id) => ({ x: x + dx, y, id })) });
    await touch("touchStart", [-20], [20]);
    for (let n = 1; n <= 6; n++) await touch("touchMove", [-20 - 10 * n], [20 + 10 * n]);
    await touch("touchEnd");
    await settled(page);
    await address(page, (url) => /view=/.test(url));
    await page.touchscreen.tap(x, y);
    await settled(page);
    assert.equal(await page.locator(".line svg.drawing").count(), 1);
    for (const tab of ["Values", "Chunks", "Metadata", "Open in"]) {
      await page.getByRole("tab", { name: tab }).tap();
      await settled(page);
      assert.ok((await overflow()) <= 0, `${tab}: ${await overflow()} pixels beside the screen`);
    }
    await shot(page, "phone-snippets");
    await page.goto(`${url}#/plate.zarr`);
    await settled(page);
    await shot(page, "phone-plate");
    assert.ok((await overflow()) <= 0, `the plate: ${await overflow()} pixels beside the screen`);
    await axeFinds(page, "a plate on a phone");
    await page.end();
  },

  async "failures are told in words"() {
    isWatched = false;
    const page = await open("#/sea.zarr/nothing");
    await reads(page, "[role=alert]", /not found/);
    await page.goto(`${url}#/sea.zarr/temperature?at=99,-1,x&x=9&y=1&view=a&map=constructor&range=5,1&tab=none`);
    await settled(page);
    await shows(page, "h1", "temperature");
    assert.equal(await page.locator(".index").inputValue(), "0");
    assert.equal(await page.getByRole("combobox", { name: "Range of the colours" }).inputValue(), "2,98%");
    server.kill("SIGINT");
    await new Promise((resolve) => server.once("exit", resolve));
    await page.getByRole("slider", { name: "time" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => document.querySelector(".note")?.textContent.includes("does not answer"));
    await shot(page, "unreachable");
    await page.end();
    isWatched = true;
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
  const began = Date.now();
  try {
    await test();
    assert.deepEqual(troubles.splice(0), []);
    console.log(`ok      ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}\n${error.stack}\n${troubles.splice(0).join("\n")}`);
  }
}
await browser.close();
if (server.exitCode === null) server.kill();
rmSync(folder, { recursive: true, force: true });
console.log(failed ? `${failed} tests of the page failed` : `the page: ${Object.keys(tests).length} tests passed; screenshots are in ${screenshots}`);
process.exit(failed ? 1 : 0);
