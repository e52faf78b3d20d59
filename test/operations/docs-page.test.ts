import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { startService, type TestService } from '../harness.ts';

let service: TestService;
let browser: Browser;
let folder: string;
let page: Page;
const complaints: string[] = [];
const hosts = new Set<string>();
const { TMPDIR: temporary } = process.env;

before(async () => {
  service = await startService();
  folder = mkdtempSync(join(tmpdir(), 'signet-browser-'));
  // Where the browser unpacks itself; it asks for the folder when it is imported.
  process.env['TMPDIR'] = folder;
  const { default: chromium } = await import('@sparticuz/chromium');
  const { chromium: playwright } = await import('playwright-core');
  browser = await playwright.launch({
    args: chromium.args,
    executablePath: await chromium.executablePath(),
    headless: true,
  });
  page = await browser.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== 'data:') hosts.add(host);
  });
  await page.goto(`${service.url}/docs`);
  await page.waitForSelector('#operations-operations-get_health');
});
after(async () => {
  await browser.close();
  await service.stop();
  if (temporary === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = temporary;
  rmSync(folder, { recursive: true, force: true });
});

test('GET /docs: the page shows every operation of the document', async () => {
  const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as { paths: object };
  const operations = Object.values(paths).flatMap((methods: object) => Object.keys(methods));
  assert.equal(await page.locator('.opblock').count(), operations.length);
});

test('GET /docs: “Execute” on GET /health shows its answer', async () => {
  const health = page.locator('#operations-operations-get_health');
  await health.locator('.opblock-summary-control').click();
  await health.getByRole('button', { name: 'Execute' }).click();
  const answer = health.locator('.live-responses-table .response');
  await answer.waitFor();
  assert.match(await answer.innerText(), /^200/);
  assert.match(await answer.innerText(), /"status": "ok"/);
});

test('GET /docs: nothing is asked of another host, and the browser has nothing to complain of', () => {
  assert.deepEqual([...hosts], [new URL(service.url).host]);
  assert.deepEqual(complaints, []);
});
