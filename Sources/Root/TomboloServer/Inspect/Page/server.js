// The page of `inspect` of a server program. It shows the database, and changes nothing.
import {
  call, changeRows, data, el, entriesView, fact, facts, isNumber, main, mark, number, pagedView, path, plural, quiet, refreshSummary, section,
  setTitle, showPlace, showState, start, summary, table, time, timeOf, valueCell, written,
} from '/page.js';

/// The number of rows on one page of a list.
const size = 50;
const collection = name => summary.collections.find(each => each.name === name);
const mono = text => el('span', { class: 'mono' }, text);
const inSpace = (space, ...more) => path('in', space, ...more);

// MARK: Frame

/// The space that the page shows: the one in the address, or else the last one.
let space;

function view([place, ...more]) {
  if (place === 'overview') return overviewView();
  if (place === 'spaces') return spacesView();
  if (place === 'clients') return clientsView();
  if (place === 'record' && collection(more[0]) && more[1]) return recordView(collection(more[0]), more[1]);
  // The names that a space can have.
  if (place === 'in' && /^[a-z][a-z0-9_]{0,62}$/.test(more[0])) {
    const [name, part, model] = more;
    if (name !== space) {
      space = name;
      refreshSummary();
    }
    if (part === 'list' && collection(model)) return listView(name, collection(model));
    if (part === 'commits') return commitsView(name);
    if (part === 'conflicts') return conflictsView(name);
    if (part === 'members') return membersView(name);
    if (summary.collections.length) return inSpace(name, 'list', summary.collections[0].name);
    return inSpace(name, 'commits');
  }
  return path('overview');
}

function showStatus() {
  const { name, isServed } = summary.database;
  showPlace(name);
  if (isServed === undefined) showState('', 'PostgreSQL');
  else if (isServed) showState('good', 'a server runs');
  else showState('warn', 'no server runs');
}

function nav([place, ...more]) {
  const shown = summary.space;
  const links = summary.collections.map(each => ({
    href: inSpace(shown.name, 'list', each.name), words: each.name, count: shown.records[each.name],
    isCurrent: place === 'record' && more[0] === each.name }));
  return [
    { title: 'Server', links: [
      { href: path('overview'), words: 'Overview' }, { href: path('spaces'), words: 'Spaces', count: summary.spaces },
      { href: path('clients'), words: 'Clients', count: summary.clients }] },
    { title: `Space ${shown.name}`, links: [
      ...links, { href: inSpace(shown.name, 'commits'), words: 'Commits', count: shown.head },
      { href: inSpace(shown.name, 'conflicts'), words: 'Conflicts', count: shown.conflicts },
      { href: inSpace(shown.name, 'members'), words: 'Members', count: shown.members }] },
  ];
}

const concerns = name => news => news.everything || news.spaces.includes(name);
const always = () => true;
const range = (found, first) => found.records.length
  ? `${number(first)} to ${number(first + found.records.length - 1)}${found.total === undefined ? '' : ` of ${number(found.total)}`}` : '';

function grid(label, titles, rows) {
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, el('table', {},
    el('thead', {}, el('tr', {}, titles.map(title => el('th', { scope: 'col', class: title.isNumber ? 'number' : null }, title.words ?? title)))),
    el('tbody', {}, rows.map(cells => el('tr', {}, cells.map((cell, index) => cell instanceof HTMLTableCellElement ? cell
      : el('td', { class: titles[index].isNumber ? 'number' : 'words' }, cell)))))));
}
const column = words => ({ words, isNumber: true });

/// The account and the device of an edit or a transaction.
const by = ({ account, client }) => [account ? data(account) : quiet('an account that is not known'), ' · ', el('span', { class: 'mono', title: client }, client.slice(-12))];
const bytes = count => count < 1024 ? plural(count, 'byte') : count < 1048576 ? `${(count / 1024).toFixed(1)} KiB` : `${(count / 1048576).toFixed(1)} MiB`;
const accessWords = {
  rule: () => 'a rule of the server program decides', open: () => 'open to every account', closed: () => 'closed: it has no members',
  members: each => plural(each.members, 'member') };
const access = each => accessWords[each.access](each);

// MARK: Server

function overviewView() {
  return {
    title: 'Overview',
    touches: always,
    update: async () => {
      await refreshSummary();
      return () => {
        const { database, space: shown } = summary;
        main(
          el('div', { class: 'head' }, el('h2', {}, 'Overview')),
          section('Database', facts(
            fact('place', data(database.name)),
            database.bytes === undefined ? [] : fact('size', bytes(database.bytes), database.walBytes ? `, and ${bytes(database.walBytes)} in its WAL` : ''),
            database.isServed === undefined ? [] : fact('server', database.isServed ? mark('good', 'a server runs') : mark('', 'no server runs')),
            fact('history', mono(summary.history)),
            fact('spaces', el('a', { href: path('spaces'), 'data-key': 'spaces' }, number(summary.spaces))),
            fact('clients', el('a', { href: path('clients'), 'data-key': 'clients' }, number(summary.clients))),
            fact('conflicts', `${number(summary.conflicts)} stored in all spaces`))),
          section(`Space ${shown.name}`, facts(
            fact('commits', shown.head ? `version ${number(shown.head)}; the change feed has those after version ${number(shown.horizon)}` : 'none yet'),
            fact('access', access(shown)),
            fact('conflicts', number(shown.conflicts)),
            summary.collections.map(each => fact(each.name, el('a', { href: inSpace(shown.name, 'list', each.name), 'data-key': each.name },
              plural(shown.records[each.name], 'record')))))));
      };
    } };
}

function spacesView() {
  return pagedView({
    key: 'spaces', title: 'Spaces', size, touches: always,
    read: look => call('spaces', { search: look.search, after: look.pages.at(-1), limit: size }),
    show: records => grid('Spaces', ['space', column('version'), column('change feed after'), 'access', column('conflicts')], records.map(each => [
      el('a', { href: inSpace(each.name), 'data-key': each.name }, each.name), number(each.head), number(each.horizon), access(each), number(each.conflicts)])),
    empty: look => look.search ? `No space has “${look.search}” in its name.` : 'There is no space yet: no account has pushed, and no space has members.',
    words: range,
  });
}

function clientsView() {
  const note = el('p', { class: 'quiet note-below' }, 'Clients that have pushed, by their ids. A server does not store how far a device has read.');
  return pagedView({
    key: 'clients', title: 'Clients', size, isSearchable: false, touches: always,
    read: look => call('clients', { after: look.pages.at(-1), limit: size }),
    show: records => [note, grid('Clients', ['account', 'client', column('incarnation'), column('last transaction'), 'outcome', 'committed', column('outcomes not confirmed')],
      records.map(each => [
        data(each.account), el('span', { class: 'mono keep' }, each.id), number(each.incarnation), each.last === undefined ? quiet('none') : number(each.last),
        each.last === undefined ? quiet('–') : outcome(each.outcome), each.at === undefined ? quiet('–') : time(each.at), number(each.unacknowledged)]))],
    empty: () => 'No client has pushed yet.',
    words: range,
  });
}

function outcome(word) {
  if (!word) return quiet('no longer stored');
  return mark({ applied: 'good', rejected: 'bad' }[word] ?? '', word);
}

function membersView(name) {
  return pagedView({
    key: `members ${name}`, title: `Members of ${name}`, size, isSearchable: false, touches: news => news.everything || news.members,
    read: look => call('members', { space: name, after: look.pages.at(-1), limit: size }),
    show: records => grid(`Members of ${name}`, ['account', 'role'], records.map(each => [data(each.account), mark(each.role === 'writer' ? 'good' : 'plain', each.role)])),
    empty: () => summary.space.name === name ? `${name} has no members: ${access(summary.space)}.` : `${name} has no members.`,
    words: range,
  });
}

// MARK: Records

/// Counts the searches, so that one ends when another begins.
let searches = 0;

function listView(name, model) {
  let isStopped = false;
  let isSearch = false;
  /// Searches on until there are enough records, page by page, and shows what is there already.
  async function search(look, show) {
    const mine = ++searches;
    isStopped = false;
    const found = { records: [], searched: 0, next: look.pages.at(-1) ?? undefined };
    do {
      const part = await call('list', {
        space: name, collection: model.name, search: look.search, after: found.next, limit: size - found.records.length });
      if (mine !== searches) return null;
      found.records.push(...part.records);
      found.searched += part.searched;
      found.next = part.next;
      found.isSearching = found.next !== undefined && found.records.length < size && !isStopped;
      if (found.isSearching) show(found);
    } while (found.isSearching && isShown());
    return mine === searches ? found : null;
  }
  const here = location.hash;
  const isShown = () => location.hash === here;

  return pagedView({
    key: `list ${name} ${model.name}`, title: model.name, size,
    // The result of a search stays as it is, because another one would begin at its first record.
    touches: news => concerns(name)(news) && !isSearch,
    read: (look, show) => {
      isSearch = Boolean(look.search);
      searches += 1;
      return look.search ? search(look, show) : call('list', { space: name, collection: model.name, after: look.pages.at(-1), limit: size });
    },
    show: records => grid(`Records of ${model.name}`, [column('uid'), ...model.fields.map(field => isNumber(field) ? column(field.name) : field.name), column('version')],
      records.map(record => [
        el('a', { href: path('record', model.name, record.id), 'data-key': record.id, 'aria-label': `Open ${record.name}` }, `${record.uid}`),
        ...model.fields.map((field, index) => cell(model, record, field, record.cells[index])),
        record.isDeleted ? mark('bad', 'deleted') : number(record.version)])),
    empty: (look, found) => !look.search ? `There is no ${model.name} in ${name}.`
      : found.next !== undefined ? 'Nothing found yet.' : look.pages.length > 1 ? 'Nothing more was found.'
        : `No ${model.name} has “${look.search}” in a value, or as its uid or id.`,
    words: (found, first, look) => look.search ? searchWords(found, () => { isStopped = true; }) : range(found, first),
  });
}
function searchWords(found, stop) {
  const words = `${plural(found.records.length, 'record')} found in ${number(found.searched)}`;
  if (found.isSearching) {
    return el('span', {}, `${words}; searching… `, el('button', { type: 'button', 'data-key': 'stop', onclick: stop }, 'Stop'));
  }
  return found.next === undefined ? `${words}, which are all` : `${words}; Next goes on`;
}

function cell(model, record, field, value) {
  const target = value.id ? path('record', field.target, value.id) : field.name === model.nameField ? path('record', model.name, record.id) : null;
  return valueCell(field, value, target, `${record.id} ${field.name}`);
}

function recordView(model, id) {
  let home;
  return {
    title: model.name,
    touches: news => home === undefined || concerns(home)(news),
    update: async () => {
      const record = await call('record', { collection: model.name, id });
      home = record.space;
      if (home !== space) {
        space = home;
        refreshSummary();
      }
      return () => {
        setTitle(record.name);
        main(
          el('p', { class: 'crumbs' }, el('a', { href: inSpace(record.space), 'data-key': 'space' }, record.space), ' / ',
            el('a', { href: inSpace(record.space, 'list', model.name), 'data-key': 'up' }, model.name)),
          el('div', { class: 'head' }, el('h2', {}, data(record.name)), record.deletion ? mark('bad', 'deleted') : null),
          record.deletion
            ? el('p', { class: 'note' }, 'Deleted ', time(record.deletion.at), ' by ', by(record.deletion), '. Its id and its uid are never used again.')
            : section('Fields', fieldTable(record.fields)),
          section('Record', facts(
            fact('space', record.space), fact('uid', `${record.uid}`), fact('version', number(record.version)),
            fact('created', time(record.creation.at), ' by ', by(record.creation), ` as version ${number(record.creation.version)}`,
              record.claimedAt === record.creation.at ? null : [el('span', { class: 'was' }, 'the device claimed ', time(record.claimedAt))]),
            fact('id', mono(record.id)))),
          record.referrers?.length ? section('Referred to by', el('ul', { class: 'plain' }, record.referrers.map(each => el('li', {},
            el('a', { href: path('record', each.type, each.id), 'data-key': `${each.id} ${each.field}` }, `${each.type} `, data(each.name)), quiet(` (${each.field})`))),
            record.hasMoreReferrers ? el('li', { class: 'quiet' }, 'and others') : null)) : null);
      };
    } };
}

function fieldTable(fields) {
  return grid('Fields', ['field', 'value', column('version'), 'edited', 'by'], fields.map(field => {
    const value = field.text === undefined ? quiet('–')
      : field.id ? el('a', { href: path('record', field.target, field.id), 'data-key': field.name }, data(field.text))
        : data(field.text, field.type === 'json' ? 'value mono' : 'value');
    return [
      [data(field.name), field.isUnknown ? el('span', { class: 'was' }, 'not in the models') : null],
      [value, field.text === undefined ? null : timeOf(field, field.text)],
      number(field.version), time(field.at),
      [by(field), field.equalEdits ? el('span', { class: 'was' }, `and ${plural(field.equalEdits, 'equal edit')}`) : null]];
  }));
}

// MARK: Commits

function commitsView(name) {
  /// The changes of the commits that are open, by version.
  const opened = new Map();
  return entriesView({
    name: 'commits', title: 'Commits', limit: size, touches: concerns(name), values: () => ({ space: name }),
    empty: () => summary.space.name === name && summary.space.head ? 'The commits of this space were removed from its change feed.' : 'This space has no commits yet.',
    item: entry => commitEntry(name, entry, opened) });
}

function commitEntry(name, entry, opened) {
  const details = el('div', {});
  const button = el('button', { type: 'button', 'data-key': `open ${entry.version}`, 'aria-expanded': 'false' });
  const show = changes => {
    button.textContent = changes ? 'Hide the changes' : `Show ${plural(entry.count, 'change')}`;
    button.setAttribute('aria-expanded', String(Boolean(changes)));
    details.replaceChildren(...changes ? [table(['record', 'field', 'value'], changeRows(changes, target))] : []);
  };
  button.addEventListener('click', async () => {
    if (opened.delete(entry.version)) return show();
    try {
      const { changes } = await call('commit', { space: name, version: entry.version });
      opened.set(entry.version, changes);
      show(changes);
    } catch (error) {
      details.replaceChildren(el('p', { class: 'problem', role: 'alert' }, data([error.message, error.advice].filter(Boolean).join('; '))));
    }
  });
  show(opened.get(entry.version));
  return el('li', { class: 'entry' },
    el('div', { class: 'top' }, mono(number(entry.version)), el('strong', {}, data(entry.what)), time(entry.at)),
    el('p', { class: 'why quiet' }, by(entry), `, incarnation ${entry.incarnation}, transaction ${number(entry.transaction)}`),
    details, el('div', { class: 'actions' }, button));
}

const target = (type, id) => collection(type) ? el('a', { href: path('record', type, id) }, data(type)) : data(type);

// MARK: Conflicts

function conflictsView(name) {
  const side = (value, author, isDelete) => [isDelete ? 'nothing: the record was deleted' : written(value),
    el('span', { class: 'was' }, by(author), ' · ', time(author.at))];
  return pagedView({
    key: `conflicts ${name}`, title: 'Conflicts', size, isSearchable: false, touches: always,
    read: look => call('conflicts', { space: name, after: look.pages.at(-1), limit: size }),
    show: records => grid(`Conflicts of ${name}`, [column('number'), 'record', 'field', 'kept', 'lost', 'rule', column('version'), 'found'], records.map(each => [
      number(each.number),
      collection(each.type) ? el('a', { href: path('record', each.type, each.id), 'data-key': `${each.number}` }, `${each.type} `, data(each.name)) : data(each.type),
      data(each.field), side(each.kept, each.keptBy, each.isDelete), side(each.lost, each.lostBy, false), data(each.rule), number(each.version), time(each.at)])),
    empty: () => `No conflict of ${name} is stored.`,
    words: range,
  });
}

start({
  command: 'the inspect command', title: 'Tombolo server', view, nav, showStatus,
  whenStopped: 'start it again, and open the address that it prints',
  summaryValues: () => space === undefined ? {} : { space },
  take: latest => {
    summary.database = latest.database;
    showStatus();
  },
  // A busy server has news all the time.
  pause: 1000,
});
