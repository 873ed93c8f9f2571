// The page of `syncctl inspect`.
import {
  byID, call, changeRows, data, el, entriesView, fact, facts, isNumber, main, mark, number, pagedView, parts, path, plural, quiet, Refusal,
  refreshSummary, say, section, setTitle, showPlace, showState, sortColumn, start, summary, table, time, timeOf, update, valueCell, written,
} from '/page.js';

const collection = name => summary.collections.find(each => each.name === name);
const users = () => summary.collections.find(each => each.isUser);

// MARK: Frame

function view([place, name, id, action]) {
  const known = name && collection(name);
  if (place === 'outbox') return outboxView();
  if (place === 'journal') return journalView();
  if (place === 'status') return statusView();
  if (place === 'users' && users()) return usersView();
  if (place === 'new' && known) return formView(known);
  if (place === 'record' && known && id && action === 'edit') return formView(known, id);
  if (place === 'record' && known && id) return recordView(known, id);
  if (place === 'list' && known) return listView(known);
  const first = summary.collections[0];
  return users() ? path('users') : first ? path('list', first.name) : path('status');
}

function showStatus() {
  const status = summary.status;
  showPlace(status.database);
  if (status.last_error) showState('bad', 'last sync failed');
  else if (status.pending > 0) showState('warn', `${number(status.pending)} pending`);
  else if (status.in_sync) showState('good', 'in sync');
  else if (status.state === 'no_server') showState('', 'no server');
  else showState('warn', status.last_sync ? 'not in sync' : 'never synced');
}

function nav([place, name]) {
  const status = summary.status;
  return [
    { title: 'People', links: users() ? [{ href: path('users'), words: 'Users', count: users().count }] : [] },
    { title: 'Collections', links: summary.collections.map(each => ({
      href: path('list', each.name), words: each.name, count: each.count,
      isCurrent: ['record', 'new'].includes(place) && name === each.name })) },
    { title: 'Device', links: [
      { href: path('outbox'), words: 'Outbox', count: status.pending },
      { href: path('journal'), words: 'Journal', count: status.journal, isAlert: status.journal > 0 },
      { href: path('status'), words: 'Status' }] },
  ];
}

function confirm(title, text, word, action) {
  const dialog = byID('dialog');
  const [problem, yes] = [byID('dialog-error'), byID('dialog-confirm')];
  byID('dialog-title').textContent = title;
  byID('dialog-text').textContent = text;
  problem.hidden = true;
  yes.textContent = word;
  yes.disabled = false;
  yes.onclick = async () => {
    yes.disabled = true;
    try {
      await action();
      dialog.close();
    } catch (error) {
      problem.textContent = [error.message, error.advice].filter(Boolean).join('; ');
      problem.hidden = false;
      yes.disabled = false;
    }
  };
  dialog.showModal();
  byID('dialog-cancel').focus();
}
byID('dialog-cancel').onclick = () => byID('dialog').close();

// MARK: Lists

const state = record => mark(record.pending ? '' : 'good', record.pending ? 'pending' : 'synced');

function face(name, classes = '') {
  const letters = name.trim().split(/\s+/).slice(0, 2).map(word => [...word][0] ?? '').join('').toUpperCase();
  let hash = 0;
  for (const character of name) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  return el('span', { class: `face hue-${hash % 8} ${classes}`, 'aria-hidden': 'true' }, letters || '?');
}

/// A list of records, as tiles or as a table.
function recordsView(model, key, title, show) {
  const size = 50;
  return pagedView({
    key, title, size, show,
    tools: [el('a', { class: 'button primary', href: path('new', model.name) }, `New ${model.name}`)],
    touches: changed => changed.collections.length > 0,
    read: look => call('list', {
      collection: model.name, search: look.search, sort: look.sort, descending: look.descending, after: look.pages.at(-1), limit: size }),
    empty: look => look.search ? `No ${model.name} here has “${look.search}” in a text, or as its uid or id.` : `There is no ${model.name} on this device yet.`,
    words: (found, first) => found.records.length ? `${number(first)} to ${number(first + found.records.length - 1)} of ${number(found.total)}` : '',
  });
}

function usersView() {
  const model = users();
  return recordsView(model, 'users', 'Users', records => el('ul', { class: 'people' }, records.map(user => el('li', {},
    el('a', { href: path('record', model.name, user.id), 'data-key': user.id },
      face(user.name),
      el('div', {}, el('strong', {}, data(user.name)),
        el('small', {}, user.image ? data(user.image) : 'no avatar')),
      user.pending ? state(user) : el('span', { class: 'quiet mono' }, `#${user.uid}`))))));
}

function listView(model) {
  return recordsView(model, `list/${model.name}`, model.name, (records, look) => {
    const target = (record, field, { id }) => id ? path('record', field.target, id)
      : field.name === model.nameField ? path('record', model.name, record.id) : null;
    return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Records of ${model.name}` }, el('table', {},
      el('thead', {}, el('tr', {}, sortColumn(look, 'uid', 'number'),
        model.fields.map(field => sortColumn(look, field.name, isNumber(field) ? 'number' : null)), el('th', { scope: 'col' }, 'state'))),
      el('tbody', {}, records.map(record => el('tr', {},
        el('td', { class: 'number' }, el('a', { href: path('record', model.name, record.id), 'data-key': record.id, 'aria-label': `Open ${record.name}` }, record.uid === '-' ? 'new' : record.uid)),
        model.fields.map((field, index) => {
          const value = record.cells[index];
          return valueCell(field, value, target(record, field, value), `${record.id} ${field.name}`);
        }), el('td', {}, state(record)))))));
  });
}

// MARK: One record

function recordView(model, id) {
  return {
    title: model.name,
    touches: () => true,
    update: async () => {
      const record = await call('record', { collection: model.name, id });
      return () => {
        const rows = model.fields.map((field, index) => {
          const value = record.fields[index];
          const shown = value.text === undefined ? quiet('–')
            : value.id ? el('a', { href: path('record', field.target, value.id), 'data-key': field.name }, data(value.text))
              : data(value.text, field.type === 'json' ? 'value mono' : 'value');
          return [el('dt', {}, field.name), el('dd', {}, shown,
            value.text === undefined ? null : timeOf(field, value.text),
            value.server === undefined ? null : el('span', { class: 'was' }, mark('', 'pending'), ' the server has ', data(value.server)))];
        });
        setTitle(record.name);
        main(
          el('p', { class: 'crumbs' }, el('a', { href: path('list', model.name), 'data-key': 'up' }, model.name)),
          el('div', { class: 'head' }, model.isUser ? face(record.name, 'large') : null, el('h2', {}, data(record.name)),
            el('a', { class: 'button primary', href: path('record', model.name, id, 'edit'), 'data-key': 'edit' }, 'Edit'),
            el('button', { type: 'button', class: 'danger', 'data-key': 'delete', onclick: () => remove(model, record) }, 'Delete')),
          section('Fields', facts(rows)),
          section('Sync', facts(
            fact('state', record.pending ? [state(record), ' the server has not confirmed all its changes'] : state(record)),
            model.isUser ? fact('image', record.image ? data(record.image) : quiet('–')) : [],
            fact('space', record.space ?? '–'), fact('uid', record.uid), fact('version', record.version), fact('id', el('span', { class: 'mono' }, record.id)))));
      };
    } };
}

function remove(model, record) {
  // What the person sees now. If a sync changes the record while the question is open, the deletion is refused.
  const before = Object.fromEntries(model.fields.map((field, index) => [field.name, record.fields[index].input]));
  confirm(`Delete ${record.name}?`, 'The deletion is sent with the next sync. Until then, syncctl outbox cancel undoes it.', 'Delete', async () => {
    await call('delete', { collection: model.name, id: record.id, before });
    say(`${record.name} was deleted`);
    location.hash = path('list', model.name);
  });
}

// MARK: Forms

function control(model, field, value, id) {
  const described = `hint-${field.name} problem-${field.name}`;
  const common = { id, name: field.name, 'aria-describedby': described, autocomplete: 'off', spellcheck: 'false', dir: 'auto' };
  if (field.type === 'boolean') {
    const select = el('select', common, field.required ? null : el('option', { value: '' }, '–'), el('option', { value: 'true' }, 'yes'), el('option', { value: 'false' }, 'no'));
    select.value = value;
    return [select];
  }
  if (field.type === 'json' || (field.type === 'text' && (value.includes('\n') || value.length > 80 || field.maximumBytes > 2000))) {
    const area = el('textarea', { ...common, class: field.type === 'json' ? 'mono' : null, rows: value.length > 400 ? 10 : 3 });
    area.value = value;
    return [area];
  }
  const modes = { integer: 'numeric', real: 'decimal' };
  const input = el('input', { ...common, type: 'text', inputmode: modes[field.type], list: field.type === 'reference' ? `list-${field.name}` : null });
  input.value = value;
  if (field.type !== 'reference') return [input];
  // The first targets that match the text. Any name, uid, or id may be entered.
  const options = el('datalist', { id: `list-${field.name}` });
  const target = collection(field.target);
  let timer;
  const suggest = async () => {
    try {
      const found = await call('list', { collection: target.name, search: input.value.slice(0, 100), limit: 20 });
      // A name that looks like a uid or an id would be taken for one.
      const isName = record => target.nameField && !/^-?[0-9]+$|^[0-9a-f-]{36}$/i.test(record.name);
      options.replaceChildren(...found.records.map(record => isName(record) ? el('option', { value: record.name }) : el('option', { value: record.id, label: record.name })));
    } catch { /* Without suggestions, the field works as before. */ }
  };
  input.addEventListener('focus', suggest, { once: true });
  input.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(suggest, 250); });
  return [input, options];
}

function hint(field, record) {
  const words = {
    text: 'text', integer: field.isDate ? 'a date, such as 2026-12-01 or 2026-12-01T10:00:00Z' : 'a whole number', real: 'a number, such as 1.5', boolean: 'yes or no', json: 'JSON',
    reference: `a record of ${field.target}: its uid${collection(field.target)?.nameField ? ', its id, or its name' : ' or its id'}` }[field.type];
  const parts = [words];
  if (field.bounds) parts.push(field.bounds);
  if (field.type === 'text' || field.type === 'json') parts.push(`at most ${number(field.maximumBytes)} bytes`);
  const current = field.type === 'reference' && record?.text ? [' Now: ', data(record.text), '.'] : [];
  return [`${parts.join(', ')}.`, ...current];
}

function formView(model, id) {
  const isNew = id === undefined;
  let record;
  let isChanged = false;
  const note = el('p', { class: 'note', hidden: true }, 'This record has changed since the form was opened. Saving changes only the fields that you have changed.');
  return {
    title: isNew ? `New ${model.name}` : `Edit ${model.name}`,
    touches: () => !isNew,
    update: async () => {
      const latest = isNew ? null : await call('record', { collection: model.name, id });
      if (record) {
        // The text in the form stays.
        isChanged ||= JSON.stringify(latest.fields) !== JSON.stringify(record.fields);
        note.hidden = !isChanged;
        return null;
      }
      record = latest ?? { fields: model.fields.map(() => ({ input: '' })) };
      return show;
    } };

  function show() {
    const back = isNew ? path('list', model.name) : path('record', model.name, id);
    const problem = el('p', { class: 'problem box', role: 'alert', hidden: true });
    const save = el('button', { class: 'primary', type: 'submit' }, isNew ? 'Create' : 'Save');
    const controls = new Map();
    const boxes = model.fields.map((field, index) => {
      const value = record.fields[index];
      const fieldID = `field-${field.name}`;
      const [input, ...extra] = control(model, field, value.input, fieldID);
      // A control may show another text than the stored one: it has its own line breaks, and a required boolean has no
      // empty choice.
      controls.set(field.name, { input, initial: isNew ? '' : input.value, before: value.input });
      return el('div', { class: 'field' },
        el('label', { for: fieldID }, field.name, field.required ? el('span', {}, ' (required)') : null), input, ...extra,
        el('p', { class: 'hint', id: `hint-${field.name}` }, hint(field, value)),
        el('p', { class: 'problem', id: `problem-${field.name}`, hidden: true }));
    });
    const space = isNew ? el('input', { id: 'space', type: 'text', 'aria-describedby': 'hint-space', autocomplete: 'off', list: 'spaces' }) : null;
    if (space) space.value = summary.newRecordSpace ?? '';
    const form = el('form', { class: 'record', novalidate: true, onsubmit: event => { event.preventDefault(); submit(); } },
      problem, note, boxes,
      space && el('div', { class: 'field' }, el('label', { for: 'space' }, 'space'), space,
        el('datalist', { id: 'spaces' }, summary.status.spaces.map(each => el('option', { value: each.space }))),
        el('p', { class: 'hint', id: 'hint-space' }, 'The space of the new record. If it is empty, the space of the records that it refers to, or default.')),
      el('div', { class: 'actions' }, save, el('a', { class: 'button', href: back }, 'Cancel')));
    main(el('p', { class: 'crumbs' }, el('a', { href: back }, isNew ? model.name : record.name)),
      el('div', { class: 'head' }, el('h2', {}, isNew ? `New ${model.name}` : ['Edit ', data(record.name)])), form);
    form.querySelector('input, select, textarea')?.focus();

    async function submit() {
      const [fields, before] = [{}, {}];
      for (const [name, { input, initial, before: shown }] of controls) {
        if (input.value === initial) continue;
        fields[name] = input.value;
        before[name] = shown;
      }
      save.disabled = true;
      problem.hidden = true;
      for (const [name, { input }] of controls) {
        input.removeAttribute('aria-invalid');
        byID(`problem-${name}`).hidden = true;
      }
      try {
        const done = isNew ? await call('create', { collection: model.name, space: space.value.trim() || null, fields })
          : await call('update', { collection: model.name, id, fields, before });
        say(`${done.result}`);
        location.hash = path('record', model.name, done.id);
      } catch (error) {
        save.disabled = false;
        // The person sees the values that are there now, and may replace them.
        const now = error.status === 409 ? await call('record', { collection: model.name, id }).catch(() => null) : null;
        if (now) model.fields.forEach((field, index) => { controls.get(field.name).before = now.fields[index].input; });
        let first;
        for (const [name, message] of Object.entries(error.fields ?? {})) {
          const place = controls.get(name);
          if (!place) continue;
          place.input.setAttribute('aria-invalid', 'true');
          byID(`problem-${name}`).textContent = message;
          byID(`problem-${name}`).hidden = false;
          first ??= place.input;
        }
        problem.replaceChildren(data([`Not saved: ${error.message}`, error.advice].filter(Boolean).join('; ')));
        problem.hidden = false;
        (first ?? save).focus();
        if (!first) problem.scrollIntoView({ block: 'nearest' });
      }
    }
  }
}
// MARK: Outbox

const target = (type, id) => collection(type) ? el('a', { href: path('record', type, id) }, data(type)) : data(type);

function outboxView() {
  return entriesView({
    name: 'outbox', title: 'Outbox', touches: changed => changed.outbox,
    empty: () => 'The outbox is empty: the server has confirmed everything that was written here.', item: outboxEntry });
}

function outboxEntry(entry) {
  const kind = { waiting: '', sent: '', answered: 'good' }[entry.state];
  return el('li', { class: 'entry' },
    el('div', { class: 'top' }, el('span', { class: 'quiet mono' }, `${entry.entry}`), el('strong', {}, data(entry.what)),
      el('span', { class: `mark ${kind}` }, data(entry.words)), mark('plain', entry.space)),
    table(['record', 'field', 'value'], changeRows(entry.changes, target)));
}

// MARK: Journal

function journalView() {
  let all = false;
  const tools = () => {
    const box = el('input', { type: 'checkbox', 'data-key': 'all', onchange: () => { all = box.checked; update(); } });
    box.checked = all;
    return el('label', { class: 'check' }, box, 'with handled entries');
  };
  return entriesView({
    name: 'journal', title: 'Journal', touches: changed => changed.outbox, values: () => ({ all }), tools,
    empty: () => all ? 'The journal is empty.' : 'No entry needs attention.', item: journalEntry });
}

function journalEntry(entry) {
  const isConflict = entry.conflicts !== undefined;
  const by = (account, isHere) => [account ? data(account) : null, account && isHere ? ', ' : null, isHere ? 'this device' : account ? null : 'another device'];
  const side = (value, account, isHere, isDelete) => [isDelete ? 'nothing: the record was deleted' : written(value),
    el('span', { class: 'was' }, 'by ', by(account, isHere))];
  const serverValue = (change, name) => {
    const row = entry.server.find(each => each.id === change.id);
    return [row && name !== undefined && name in row ? written(row[name]) : ''];
  };
  // An entry about a deleted record has conflicts, and the values that they do not show as changes.
  const conflicts = isConflict && (entry.conflicts.length > 0 || !entry.changes)
    && table(['record', 'field', 'kept', 'lost'], entry.conflicts.map(each => [target(each.type, each.id), data(each.field),
      side(each.kept, each.keptBy, each.keptHere, each.rule === 'deleteWins'), side(each.lost, each.lostBy, each.lostHere, false)]));
  const changes = entry.changes && table(['record', 'field', 'value', ...entry.server ? ['the server has'] : []], changeRows(entry.changes, target, entry.server ? serverValue : undefined));
  const problem = el('p', { class: 'problem', role: 'alert', hidden: true });
  const act = (word, name, done) => el('button', { type: 'button', 'data-key': `${name} ${entry.entry}`, onclick: async event => {
    const button = event.currentTarget;
    button.disabled = true;
    problem.hidden = true;
    try {
      const { result } = await call(name, { entry: entry.entry });
      if (result === 'unchanged') throw new Refusal(200, { error: 'Nothing was written: the records already have these values.' });
      say(done);
      await Promise.all([refreshSummary(), update()]);
    } catch (error) {
      button.disabled = false;
      problem.textContent = [error.message, error.advice].filter(Boolean).join('; ');
      problem.hidden = false;
    }
  } }, word);
  return el('li', { class: 'entry' },
    el('div', { class: 'top' }, el('span', { class: 'quiet mono' }, `${entry.entry}`), el('strong', {}, data(entry.what)),
      mark(entry.state === 'active' ? (isConflict ? '' : 'bad') : 'plain', entry.state), time(entry.at)),
    el('p', { class: 'why quiet' }, data(entry.why)), conflicts || null, changes || null,
    entry.state === 'restored' ? null : el('div', { class: 'actions' }, conflicts || changes ? act('Write these values again', 'restore', 'restored') : null,
      entry.state === 'active' ? act('Dismiss', 'dismiss', 'dismissed') : null),
    problem);
}

// MARK: Status

function statusView() {
  return {
    title: 'Status',
    touches: () => true,
    update: async () => {
      await refreshSummary();
      const status = summary.status;
      return () => main(
        el('div', { class: 'head' }, el('h2', {}, 'Status')),
        section('Sync', facts(
          fact('state', status.in_sync ? mark('good', 'in sync') : status.pending ? mark('', `${number(status.pending)} pending`) : mark('plain', 'not in sync'),
            ' as of the last contact'),
          fact('outbox', status.pending ? `${number(status.waiting)} waiting, ${number(status.sent)} sent, ${number(status.answered)} answered` : 'empty',
            status.held ? `; ${number(status.held)} held until the server is upgraded` : ''),
          fact('journal', status.journal ? `${plural(status.journal, 'entry needs', 'entries need')} attention` : 'no entry needs attention'),
          fact('last sync', status.last_sync ? time(status.last_sync) : 'never'),
          fact('last error', ...status.last_error ? [data(status.last_error, 'problem'), ' since ', time(status.last_error_at)] : ['none since the last sync']),
          status.paused_until ? fact('paused', 'the server asked for a pause until ', time(status.paused_until)) : [],
          fact('clock', data(status.clock)),
          fact('engine', status.engine_process ? `runs in process ${status.engine_process}` : 'not running'))),
        section('Spaces', table(['space', 'version', 'state'], status.spaces.map(space => [space.space, number(space.version),
          !space.access ? mark('bad', 'no access') : space.complete ? mark('good', 'complete') : mark('', 'not complete')]))),
        section('Device', facts(
          fact('server', status.server ? data(status.server) : 'none is configured'), fact('account', status.account ? data(status.account) : 'none before the first contact'),
          fact('device', el('span', { class: 'mono' }, status.client)), fact('database', data(status.database)), fact('environment', status.environment))));
    } };
}

start({
  command: 'syncctl inspect', title: 'Tombolo inspector', view, nav, showStatus,
  whenStopped: 'start it again, and open the address that it prints; saved changes are in the database',
  take: latest => {
    summary.status = latest.status;
    showStatus();
  },
  onLeave: () => { if (byID('dialog').open) byID('dialog').close(); },
});
