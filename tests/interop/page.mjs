// Opens an audit page in Debian's Chromium and says what it sees, for tests/it/audit_page.rs.
//
// One JSON array of jobs on standard input, one array of answers on standard output, in the same order. A page is a file; a
// job says whether scripts may run, how wide the window is, and what to do with it.
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {chromium} from 'playwright-core';

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const AXE = readFileSync(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

// What runs in the page. Playwright's own evaluation works with scripts of the page switched off, too.
const looks = {
  // Everything that could act or fetch, and what a script of a sender would have set.
  elements: () => ({
    scripts: document.querySelectorAll('script').length,
    active: document.querySelectorAll('iframe,object,embed,img,video,audio,link,base,form,button,foreignObject,use,image,animate,set')
      .length,
    links: [...document.querySelectorAll('a')].map(a => a.getAttribute('href')),
    handlers: [...document.querySelectorAll('*')].flatMap(e => [...e.attributes])
      .filter(({name, value}) => name.startsWith('on') || name === 'style' || /^\s*(javascript|data):/i.test(value))
      .map(({name}) => name),
    styles: document.querySelectorAll('style').length,
    pwned: window.pwned === undefined ? null : String(window.pwned)
  }),
  rows: () => [...document.querySelectorAll('li.d')].filter(e => e.checkVisibility())
    .map(e => Number(e.querySelector('.detail').id.replace('row-', ''))),
  filters: () => [...document.querySelectorAll('fieldset')].flatMap(set => [...set.querySelectorAll('input')]
    .map(input => ({
      facet: set.querySelector('legend').textContent,
      id: input.id,
      label: input.parentElement.querySelector('span').textContent,
      count: Number(input.parentElement.querySelector('b')?.textContent ?? -1)
    }))),
  // Text boxes of every picture that overlap another or leave the view box.
  pictures: () => [...document.querySelectorAll('svg.chain')].map(svg => {
    const {width, height} = svg.viewBox.baseVal;
    const boxes = [...svg.querySelectorAll('text')].map(text => ({text: text.textContent, ...rect(text.getBBox())}));
    function rect({x, y, width, height}) { return {x, y, right: x + width, bottom: y + height}; }
    const problems = [];
    for(const [index, box] of boxes.entries()) {
      if(box.x < 0 || box.y < 0 || box.right > width || box.bottom > height) {
        problems.push(`outside: ${box.text}`);
      }
      for(const other of boxes.slice(index + 1)) {
        // Boxes of two lines one under the other may share a hair's breadth of their line spacing.
        if(box.x < other.right && other.x < box.right && box.y + 1 < other.bottom && other.y + 1 < box.bottom) {
          problems.push(`overlap: ${box.text} / ${other.text}`);
        }
      }
    }
    return {
      row: Number(svg.closest('.detail').id.replace('row-', '')),
      texts: boxes.map(box => box.text),
      named: Boolean(svg.querySelector('title')?.textContent && svg.querySelector('desc')?.textContent),
      titles: [...svg.querySelectorAll('g > title')].map(title => title.textContent),
      problems
    };
  }),
  // Nothing, or what is wider than the window and not within something that scrolls.
  overflow: () => document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] :
    [...document.querySelectorAll('main *, header *')]
      .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth && !e.closest('.t, figure, fieldset'))
      .map(e => e.outerHTML.slice(0, 200)),
  text: () => document.body.textContent,
  open: () => [...document.querySelectorAll('details[open] .detail')].filter(e => e.checkVisibility())
    .map(e => Number(e.id.replace('row-', '')))
};

const steps = {
  look: (page, what) => page.evaluate(looks[what]),
  choose: (page, id) => page.locator(`[id="${id}"]`).check({timeout: 10_000}),
  async click(page, row) {
    await page.locator(`li.d:has(#row-${row}) summary`).click({timeout: 10_000});
  },
  // By keyboard alone: focus the line of a row and press Enter.
  async press(page, row) {
    await page.locator(`li.d:has(#row-${row}) summary`).focus({timeout: 10_000});
    await page.keyboard.press('Enter');
  },
  openAll: page => page.evaluate(() => document.querySelectorAll('details').forEach(e => { e.open = true; })),
  // A page without a script still has its links.
  goto: async(page, fragment) => { await page.goto(page.url().split('#')[0] + fragment); },
  scheme: (page, colorScheme) => page.emulateMedia({colorScheme}),
  media: (page, media) => page.emulateMedia({media}),
  async shoot(page, {path, full, row}) {
    if(row) {
      await page.locator(`li.d:has(#row-${row})`).screenshot({path});
    } else {
      await page.screenshot({path, fullPage: Boolean(full)});
    }
  },
  async axe(page) {
    await page.evaluate(AXE);
    const {violations} = await page.evaluate(() => globalThis.axe.run(document, {resultTypes: ['violations']}));
    return violations.map(({id, impact, nodes}) => ({id, impact, nodes: nodes.slice(0, 3).map(n => n.html.slice(0, 200))}));
  }
};

async function run(browser, {path, scripts, width, height, steps: todo}) {
  const context = await browser.newContext({javaScriptEnabled: scripts, viewport: {width, height}});
  const page = await context.newPage();
  const requests = [];
  const said = [];
  page.on('request', request => requests.push(request.url()));
  page.on('console', message => said.push(message.text()));
  page.on('pageerror', error => said.push(String(error)));
  page.on('dialog', dialog => { said.push(`dialog: ${dialog.message()}`); return dialog.dismiss(); });
  const url = pathToFileURL(path).href;
  const start = performance.now();
  await page.goto(url, {waitUntil: 'load'});
  const milliseconds = Math.round(performance.now() - start);
  const answers = [];
  for(const [step, argument] of todo) {
    answers.push(await steps[step](page, argument) ?? null);
  }
  await context.close();
  return {answers, said, milliseconds, beyond: requests.filter(request => request.split('#')[0] !== url)};
}

const folder = mkdtempSync(join(tmpdir(), 'writgate-chromium-'));
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium', args: FLAGS, env: {...process.env, HOME: folder, XDG_CONFIG_HOME: folder}
});
const answers = [];
for(const job of JSON.parse(readFileSync(0, 'utf8'))) {
  answers.push(await run(browser, job));
}
await browser.close();
rmSync(folder, {recursive: true, force: true});
process.stdout.write(JSON.stringify(answers));
