// The parts that all pages of Tombolo's programs share. Data reaches a page as text nodes only.

// MARK: Elements

export const byID = id => document.getElementById(id);

/// Creates an element. Properties whose names begin with `on` are listeners, and `class` is the list of classes.
export function el(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

export const data = (text, classes = '') => el('span', { class: `data ${classes}`, dir: 'auto' }, text);
export const quiet = text => el('span', { class: 'quiet' }, text);
export const mark = (kind, text) => el('span', { class: `mark ${kind}` }, text);
export const number = value => value.toLocaleString('en-US');
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/// Shows a time: a text in ISO 8601, or the number of milliseconds since 1970.
export function time(value) {
  const date = new Date(value);
  if (Number.isNaN(date.valueOf())) return el('time', {}, `${value}`);
  const text = typeof value === 'number' ? date.toISOString() : value;
  return el('time', { datetime: text, title: text }, date.toLocaleString());
}

/// A row of a list of facts.
export const fact = (name, ...value) => [el('dt', {}, name), el('dd', {}, value)];
export const facts = (...rows) => el('dl', { class: 'facts' }, rows.flat(2));
export const section = (title, ...children) => el('section', {}, el('h3', {}, title), children);

export function table(titles, rows) {
  return el('div', { class: 'scroll', tabindex: '0' }, el('table', {},
    el('thead', {}, el('tr', {}, titles.map(title => el('th', { scope: 'col' }, title)))),
    el('tbody', {}, rows.map(row => el('tr', {}, row.map(cell => el('td', {}, cell)))))));
}

const rest = new Set(['intent', 'type', 'id']);
export const written = value => value === null ? quiet('nothing')
  : data(typeof value === 'string' ? value : JSON.stringify(value));

/// Returns the rows of a table of changes: the record, the field, and its value.
///
/// @param target returns the element for a record's type and id.
/// @param more returns further cells for a change and the name of a field, which is missing if the change has no fields.
export function changeRows(changes, target, more = () => []) {
  return changes.flatMap(change => {
    const names = Object.keys(change).filter(name => !rest.has(name));
    const word = change.intent === 'create' ? 'create ' : change.intent === 'delete' ? 'delete ' : 'change ';
    const record = [word, target(change.type, change.id)];
    if (!names.length) return [[record, '', '', ...more(change)]];
    return names.map((name, index) => [index ? '' : record, data(name), written(change[name]), ...more(change, name)]);
  });
}

/// The time that a number of microseconds since 1970 stands for, if it is one of this age: dates are stored like this.
export function timeOf(field, text) {
  if (field.type !== 'integer') return null;
  const value = Number(text);
  if (!(value > 6.3e14 && value < 4.2e15)) return null;
  return el('span', { class: 'was' }, `as a date: ${new Date(value / 1000).toISOString()}`);
}

// MARK: The secret

/// The secret of this run of the program. It leaves the address at once, so that it is neither in the history nor on the
/// screen, and stays in this tab for a reload.
let secret = sessionStorage.getItem('key');
function takeSecret() {
  const given = /^#key=([0-9a-f]+)$/.exec(location.hash);
  if (!given) return;
  secret = given[1];
  sessionStorage.setItem('key', secret);
  history.replaceState(null, '', '/#/');
}
takeSecret();

// MARK: Calls

export class Refusal extends Error {
  constructor(status, body) {
    super(body.error ?? `the program answered with status ${status}`);
    this.status = status;
    this.advice = body.advice;
    this.fields = body.fields ?? {};
  }
}

export async function call(name, values = {}) {
  if (!secret) throw new Refusal(401, {
    error: 'this address has no secret',
    advice: `open the whole address that ${application.command} has printed, with the part after #` });
  let response;
  try {
    response = await fetch(`/api/${name}`, {
      method: 'POST', body: JSON.stringify(values), cache: 'no-store', credentials: 'omit', redirect: 'error',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${secret}` } });
  } catch {
    throw new Refusal(0, { error: `${application.command} does not respond`, advice: application.whenStopped });
  }
  let body = {};
  try {
    // A number that JavaScript cannot represent exactly stays the text that it is in the response.
    body = JSON.parse(await response.text(), (_, value, context) =>
      typeof value === 'number' && !Number.isSafeInteger(value) && context?.source ? context.source : value);
  } catch { /* Without a body, the status tells what is known. */ }
  if (!response.ok) throw new Refusal(response.status, body);
  return body;
}

// MARK: State

/// The program's part of the page. See `start`.
let application;
/// The last result of the call `summary`.
export let summary;
let news = 0;
let failure;
const nothing = { update: () => {}, touches: () => false };
let view = nothing;
/// Counts the views, so that a response for a view that was left is not shown.
let turn = 0;

// MARK: Routes

export const path = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;
export const parts = () => location.hash.replace(/^#\/?/, '').split('/').filter(part => part).map(part => {
  try { return decodeURIComponent(part); } catch { return part; }
});

async function open() {
  const mine = ++turn;
  view = nothing;
  application.onLeave?.();
  if (!summary && !await refreshSummary()) return;
  if (mine !== turn) return;
  const next = application.view(parts());
  if (typeof next === 'string') {
    location.replace(next);
    return;
  }
  view = next;
  showNav();
  setTitle(view.title);
  await update();
  if (!byID('main').contains(document.activeElement)) byID('main').focus({ preventScroll: true });
  scrollTo(0, 0);
}

export const setTitle = title => { document.title = `${title} · ${application.title}`; };

/// Reads the data of the view and shows it.
export async function update() {
  const mine = turn;
  try {
    const show = await view.update();
    if (mine !== turn) return;
    if (failure?.of === 'view') setFailure(null);
    if (show) keepingFocus(show);
  } catch (error) {
    if (mine === turn) setFailure(error, 'view');
  }
}

/// Shows the view again. The element that has the focus gets it back, if the view still has it.
export function keepingFocus(show) {
  const focused = document.activeElement?.dataset?.key;
  const selection = document.activeElement?.selectionStart;
  show();
  if (!focused) return;
  const again = byID('main').querySelector(`[data-key="${CSS.escape(focused)}"]`);
  if (!again || again === document.activeElement) return;
  again.focus({ preventScroll: true });
  if (typeof selection === 'number' && again.setSelectionRange) again.setSelectionRange(selection, selection);
}

export const main = (...children) => byID('main').replaceChildren(...children.flat().filter(Boolean));

// MARK: Frame

function setFailure(error, of) {
  failure = error ? { error, of } : null;
  const banner = byID('banner');
  banner.hidden = !error;
  if (!error) return;
  if (!(error instanceof Refusal)) console.error(error);
  const advice = error.advice ?? (error instanceof Refusal ? null : 'reload the page');
  banner.replaceChildren(el('strong', {}, data(error.message)), ...advice ? [data(advice)] : []);
  if (!summary) main(el('p', { class: 'empty' }, 'Nothing can be shown.'));
  if (error.status === 401) showState('bad', 'no access');
  if (error.status === 0) showState('bad', 'stopped');
}

/// Shows one or two words about the state in the header.
export function showState(kind, text) {
  const state = byID('state');
  state.className = `pill ${kind}`;
  state.textContent = text;
}

/// Shows the place of the database in the header. The end of a long path stays visible: see the style.
export function showPlace(text) {
  byID('place').replaceChildren(el('bdi', {}, text));
  byID('place').title = text;
}

export const say = text => { byID('live').textContent = text; };

function showNav() {
  const here = location.hash;
  const link = ({ href, words, count, isAlert, isCurrent }) => el('li', {},
    el('a', { href, 'aria-current': isCurrent || here === href || here.startsWith(`${href}/`) ? 'page' : null }, words,
      typeof count === 'number' ? el('span', { class: isAlert ? 'count alert' : 'count' }, number(count)) : null));
  const nav = byID('nav');
  const focused = nav.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  nav.replaceChildren(...application.nav(parts()).filter(group => group.links.length)
    .flatMap(group => [el('h2', {}, group.title), el('ul', {}, group.links.map(link))]));
  if (focused) [...nav.querySelectorAll('a')].find(each => each.getAttribute('href') === focused)?.focus({ preventScroll: true });
  // On a narrow screen, the parts are in one row that scrolls.
  const chosen = nav.querySelector('[aria-current]');
  if (chosen && nav.scrollWidth > nav.clientWidth) nav.scrollLeft = chosen.offsetLeft - (nav.clientWidth - chosen.offsetWidth) / 2;
}

export async function refreshSummary() {
  try {
    const latest = await call('summary', application.summaryValues?.() ?? {});
    summary = latest;
    news = Math.max(news, 0) || latest.news;
    if (failure?.of === 'summary') setFailure(null);
    application.showStatus();
    showNav();
    return true;
  } catch (error) {
    setFailure(error, 'summary');
    return false;
  }
}

// MARK: Lists

/// The search, order, and pages of a list, which survive a look at a record.
const listings = new Map();
function listing(key) {
  if (!listings.has(key)) listings.set(key, { search: '', sort: 'uid', descending: false, pages: [null] });
  return listings.get(key);
}

/// A view with a search field, the records of one page, and buttons for the pages.
///
/// @param read returns the records after a position, with `next` if others follow; nothing if another result will come.
///   Its second argument shows a part of the result that is there already. A search that goes on from page to page returns
///   how many records it has `searched`.
/// @param show returns the elements for some records; `empty` the text if there are none; `words` the words beside the
///   buttons, from the result and the number of the first record.
export function pagedView({ key, title, tools = [], isSearchable = true, size, touches, read, show, empty, words }) {
  const look = listing(key);
  let timer;
  const search = isSearchable && el('input', {
    type: 'search', 'data-key': 'search', 'aria-label': `Search ${title}`, placeholder: 'Search', maxlength: 120, autocomplete: 'off', spellcheck: 'false',
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => { look.search = search.value; look.pages = [null]; update(); }, 200);
    } });
  if (search) search.value = look.search;
  const body = el('div', {});
  const pager = el('div', { class: 'pager' });
  const heading = el('div', { class: 'head' }, el('h2', {}, title), search, tools);
  const go = pages => { look.pages = pages; update(); scrollTo(0, 0); };
  const mine = turn;
  let isShown = false;
  const render = found => () => {
    if (!isShown) main(heading, body, pager);
    isShown = true;
    const { records } = found;
    const first = (look.pages.length - 1) * size + 1;
    const text = words(found, first, look);
    body.replaceChildren(...[records.length ? show(records, look) : el('p', { class: 'empty' }, empty(look, found))].flat());
    pager.replaceChildren(
      el('p', {}, text),
      el('button', { type: 'button', 'data-key': 'previous', disabled: look.pages.length === 1, onclick: () => go(look.pages.slice(0, -1)) }, 'Previous'),
      el('button', { type: 'button', 'data-key': 'next', disabled: !found.next, onclick: () => go([...look.pages, found.next]) }, 'Next'));
    pager.hidden = look.pages.length === 1 && !found.next && !records.length && !text;
  };
  const own = {
    title, touches,
    update: async () => {
      const found = await read(look, part => { if (mine === turn) keepingFocus(render(part)); });
      if (!found) return null;
      // The last record of this page was deleted meanwhile. A search that goes on may find nothing more.
      if (!found.records.length && look.pages.length > 1 && found.searched === undefined) { look.pages.pop(); return own.update(); }
      return () => {
        render(found)();
        say(`${plural(found.total ?? found.records.length, 'record')} found`);
      };
    } };
  return own;
}

/// The heading of a column, with a button that sorts by it.
export function sortColumn(look, name, classes) {
  const isSorted = look.sort === name;
  const sign = isSorted ? (look.descending ? ' ↓' : ' ↑') : '';
  return el('th', { scope: 'col', class: classes, 'aria-sort': isSorted ? (look.descending ? 'descending' : 'ascending') : null },
    el('button', { type: 'button', 'data-key': `sort ${name}`, onclick: () => {
      look.descending = isSorted && !look.descending;
      look.sort = name;
      look.pages = [null];
      update();
    } }, name + sign));
}

export const isNumber = field => ['integer', 'real'].includes(field.type);

/// Returns the cell of a table for a value of a record.
///
/// @param target the address of the page for the value; null if there is none.
export function valueCell(field, value, target, key) {
  if (value.text === undefined) return el('td', { class: 'quiet' }, '–');
  const shown = data(value.text, 'cut');
  return el('td', { class: isNumber(field) ? 'number' : null }, target ? el('a', { href: target, 'data-key': key }, shown) : shown);
}

/// A view of entries. Reads pages of entries until as many are there as were shown before.
///
/// @param values returns the arguments of the call `name`; `tools` the elements beside the title; `empty` the text if
///   there are no entries; `item` the element for an entry.
export function entriesView({ name, title, touches, values, tools, empty, item, limit = 20 }) {
  let wanted = 1;
  return {
    title, touches,
    update: async () => {
      const entries = [];
      let next;
      for (let page = 0; page < wanted; page++) {
        const found = await call(name, { ...values?.(), after: next, limit });
        entries.push(...found.entries);
        next = found.next;
        if (next === undefined) break;
      }
      return () => main(
        el('div', { class: 'head' }, el('h2', {}, title), tools?.()),
        entries.length ? el('ul', { class: 'entries' }, entries.map(item)) : el('p', { class: 'empty' }, empty()),
        next === undefined ? null : el('div', { class: 'pager' },
          el('button', { type: 'button', 'data-key': 'more', onclick: () => { wanted += 1; update(); } }, 'Show more')));
    } };
}

// MARK: News

const pause = time => new Promise(resolve => setTimeout(resolve, time));

/// Waits for news, and shows them. Each call ends with the next change, or after some seconds.
async function follow() {
  while (true) {
    if (!summary) {
      if (!await refreshSummary()) { await pause(3000); continue; }
      open();
    }
    try {
      const latest = await call('news', { since: news });
      const isOld = latest.news === news;
      news = latest.news;
      if (failure?.of === 'news' || failure?.of === 'summary') setFailure(null);
      application.take?.(latest);
      if (!isOld) {
        await refreshSummary();
        if (view.touches(latest)) await update();
      }
      // Many changes in a row are shown together.
      await pause(application.pause ?? 250);
    } catch (error) {
      setFailure(error, 'news');
      // Another secret is needed, which only a person can give.
      if (error.status === 401) return;
      await pause(3000);
    }
  }
}

/// Starts the page.
///
/// `own` is the program's part: `command` and `title`, its names; `whenStopped`, the advice when it does not respond;
/// `view`, which returns the view for the parts of a route, or another address; `nav`, the groups of links;
/// `showStatus`, which shows `summary` in the header; and, if needed, `summaryValues`, the arguments of the call
/// `summary`; `take`, which gets all news; `onLeave`, which is called when a view is left; and `pause`, the shortest time
/// between two news in milliseconds.
export function start(own) {
  application = own;
  addEventListener('hashchange', () => {
    if (/^#key=/.test(location.hash)) {
      takeSecret();
      location.reload();
    } else if (location.hash.startsWith('#/') || !location.hash) {
      open();
    }
  });
  addEventListener('resize', () => { if (summary) showNav(); });
  // As a link, it would replace the place in the address.
  document.querySelector('.skip').addEventListener('click', event => {
    event.preventDefault();
    byID('main').focus();
  });
  open().then(follow);
}
