// The page of `syncctl inspect`. Data reaches the page as text nodes only.
(() => {
  'use strict';

  // MARK: Elements

  const byID = id => document.getElementById(id);

  /// Creates an element. Properties whose names begin with `on` are listeners, and `class` is the list of classes.
  function el(name, properties, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties ?? {})) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
      else element.setAttribute(key, value === true ? '' : value);
    }
    element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
    return element;
  }

  const data = (text, classes = '') => el('span', { class: `data ${classes}`, dir: 'auto' }, text);
  const number = value => value.toLocaleString('en-US');
  const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

  function time(text) {
    const date = new Date(text);
    return el('time', { datetime: text, title: text }, Number.isNaN(date.valueOf()) ? text : date.toLocaleString());
  }

  // MARK: The secret

  /// The secret of this run of `syncctl inspect`. It leaves the address at once, so that it is neither in the history nor
  /// on the screen, and stays in this tab for a reload.
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

  class Refusal extends Error {
    constructor(status, body) {
      super(body.error ?? `the program answered with status ${status}`);
      this.status = status;
      this.advice = body.advice;
      this.fields = body.fields ?? {};
    }
  }

  async function call(name, values = {}) {
    if (!secret) throw new Refusal(401, {
      error: 'this address has no secret', advice: 'open the whole address that syncctl inspect has printed, with the part after #' });
    let response;
    try {
      response = await fetch(`/api/${name}`, {
        method: 'POST', body: JSON.stringify(values), cache: 'no-store', credentials: 'omit', redirect: 'error',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${secret}` } });
    } catch {
      throw new Refusal(0, {
        error: 'syncctl inspect does not respond', advice: 'start it again, and open the address that it prints; saved changes are in the database' });
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

  let summary;
  let news = 0;
  let failure;
  let view = { update: () => {}, touches: () => false };
  /// Counts the views, so that a response for a view that was left is not shown.
  let turn = 0;

  const collection = name => summary.collections.find(each => each.name === name);

  // MARK: Routes

  const path = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;
  const parts = () => location.hash.replace(/^#\/?/, '').split('/').filter(part => part).map(part => {
    try { return decodeURIComponent(part); } catch { return part; }
  });

  async function open() {
    const mine = ++turn;
    const [place, name, id, action] = parts();
    view = { update: () => {}, touches: () => false };
    if (byID('dialog').open) byID('dialog').close();
    if (!summary && !await refreshSummary()) return;
    if (mine !== turn) return;
    showNav();
    const known = name && collection(name);
    if (place === 'outbox') view = outboxView();
    else if (place === 'journal') view = journalView();
    else if (place === 'status') view = statusView();
    else if (place === 'users' && summary.collections.some(each => each.isUser)) view = usersView();
    else if (place === 'new' && known) view = formView(known);
    else if (place === 'record' && known && id && action === 'edit') view = formView(known, id);
    else if (place === 'record' && known && id) view = recordView(known, id);
    else if (place === 'list' && known) view = listView(known);
    else {
      const users = summary.collections.some(each => each.isUser);
      const first = summary.collections[0];
      location.replace(users ? path('users') : first ? path('list', first.name) : path('status'));
      return;
    }
    document.title = `${view.title} · Tombolo inspector`;
    await update();
    if (!byID('main').contains(document.activeElement)) byID('main').focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  /// Reads the data of the view and shows it.
  async function update() {
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
  function keepingFocus(show) {
    const focused = document.activeElement?.dataset?.key;
    const selection = document.activeElement?.selectionStart;
    show();
    if (!focused) return;
    const again = byID('main').querySelector(`[data-key="${CSS.escape(focused)}"]`);
    if (!again || again === document.activeElement) return;
    again.focus({ preventScroll: true });
    if (typeof selection === 'number' && again.setSelectionRange) again.setSelectionRange(selection, selection);
  }

  const main = (...children) => byID('main').replaceChildren(...children.flat().filter(Boolean));

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

  function showState(kind, text) {
    const state = byID('state');
    state.className = `pill ${kind}`;
    state.textContent = text;
  }

  function showStatus() {
    const status = summary.status;
    // The end of a long path stays visible: see the style.
    byID('place').replaceChildren(el('bdi', {}, status.database));
    byID('place').title = status.database;
    if (status.last_error) showState('bad', 'last sync failed');
    else if (status.pending > 0) showState('warn', `${number(status.pending)} pending`);
    else if (status.in_sync) showState('good', 'in sync');
    else if (status.state === 'no_server') showState('', 'no server');
    else showState('warn', status.last_sync ? 'not in sync' : 'never synced');
  }

  function showNav() {
    const here = location.hash;
    const link = (target, words, count, isAlert) => el('li', {},
      el('a', { href: target, 'aria-current': here === target || here.startsWith(`${target}/`) ? 'page' : null },
        words, count === null ? null : el('span', { class: isAlert ? 'count alert' : 'count' }, number(count))));
    const current = parts();
    const lists = summary.collections.map(each => {
      const item = link(path('list', each.name), each.name, each.count);
      if (['record', 'new'].includes(current[0]) && current[1] === each.name) item.firstChild.setAttribute('aria-current', 'page');
      return item;
    });
    const users = summary.collections.find(each => each.isUser);
    const status = summary.status;
    const nav = byID('nav');
    const focused = nav.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
    nav.replaceChildren(
      ...users ? [el('h2', {}, 'People'), el('ul', {}, link(path('users'), 'Users', users.count))] : [],
      el('h2', {}, 'Collections'), el('ul', {}, lists),
      el('h2', {}, 'Device'),
      el('ul', {}, link(path('outbox'), 'Outbox', status.pending),
        link(path('journal'), 'Journal', status.journal, status.journal > 0), link(path('status'), 'Status', null)));
    if (focused) [...nav.querySelectorAll('a')].find(each => each.getAttribute('href') === focused)?.focus({ preventScroll: true });
    // On a narrow screen, the parts are in one row that scrolls.
    const chosen = nav.querySelector('[aria-current]');
    if (chosen && nav.scrollWidth > nav.clientWidth) nav.scrollLeft = chosen.offsetLeft - (nav.clientWidth - chosen.offsetWidth) / 2;
  }

  async function refreshSummary() {
    try {
      const latest = await call('summary');
      summary = latest;
      news = Math.max(news, 0) || latest.news;
      if (failure?.of === 'summary') setFailure(null);
      showStatus();
      showNav();
      return true;
    } catch (error) {
      setFailure(error, 'summary');
      return false;
    }
  }

  const say = text => { byID('live').textContent = text; };

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

  const pageSize = 50;

  /// The search, order, and page of a list, which survive a look at a record.
  const listings = new Map();
  function listing(key) {
    if (!listings.has(key)) listings.set(key, { search: '', sort: 'uid', descending: false, pages: [null] });
    return listings.get(key);
  }

  const state = record => el('span', { class: record.pending ? 'mark' : 'mark good' }, record.pending ? 'pending' : 'synced');

  function face(name, classes = '') {
    const letters = name.trim().split(/\s+/).slice(0, 2).map(word => [...word][0] ?? '').join('').toUpperCase();
    let hash = 0;
    for (const character of name) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
    return el('span', { class: `face hue-${hash % 8} ${classes}`, 'aria-hidden': 'true' }, letters || '?');
  }

  /// The parts that the list of users and the tables share: the search field and the pages.
  function paged(model, key, title, show) {
    const look = listing(key);
    let timer;
    const search = el('input', {
      type: 'search', 'data-key': 'search', 'aria-label': `Search ${title}`, placeholder: 'Search', maxlength: 120, autocomplete: 'off', spellcheck: 'false',
      oninput: () => {
        clearTimeout(timer);
        timer = setTimeout(() => { look.search = search.value; look.pages = [null]; update(); }, 200);
      } });
    search.value = look.search;
    const body = el('div', {});
    const pager = el('div', { class: 'pager' });
    const heading = el('div', { class: 'head' }, el('h2', {}, title), search,
      el('a', { class: 'button primary', href: path('new', model.name) }, `New ${model.name}`));
    const go = pages => { look.pages = pages; update(); scrollTo(0, 0); };
    let isShown = false;
    return {
      title,
      touches: changed => changed.collections.length > 0,
      update: async () => {
        const found = await call('list', {
          collection: model.name, search: look.search, sort: look.sort, descending: look.descending, after: look.pages.at(-1), limit: pageSize });
        // The last record of this page was deleted meanwhile.
        if (!found.records.length && look.pages.length > 1) { look.pages.pop(); return view.update(); }
        return () => {
          if (!isShown) main(heading, body, pager);
          isShown = true;
          const first = (look.pages.length - 1) * pageSize + 1;
          body.replaceChildren(found.records.length ? show(found.records, look) : el('p', { class: 'empty' },
            look.search ? `No ${model.name} here has “${look.search}” in a text, or as its uid or id.` : `There is no ${model.name} on this device yet.`));
          pager.replaceChildren(
            el('p', {}, found.records.length ? `${number(first)} to ${number(first + found.records.length - 1)} of ${number(found.total)}` : ''),
            el('button', { type: 'button', 'data-key': 'previous', disabled: look.pages.length === 1, onclick: () => go(look.pages.slice(0, -1)) }, 'Previous'),
            el('button', { type: 'button', 'data-key': 'next', disabled: !found.next, onclick: () => go([...look.pages, found.next]) }, 'Next'));
          pager.hidden = look.pages.length === 1 && !found.next && !found.records.length;
          say(`${plural(found.total, 'record')} found`);
        };
      } };
  }

  function usersView() {
    const model = summary.collections.find(each => each.isUser);
    return paged(model, 'users', 'Users', records => el('ul', { class: 'people' }, records.map(user => el('li', {},
      el('a', { href: path('record', model.name, user.id), 'data-key': user.id },
        face(user.name),
        el('div', {}, el('strong', {}, data(user.name)),
          el('small', {}, user.image ? data(user.image) : 'no avatar')),
        user.pending ? state(user) : el('span', { class: 'quiet mono' }, `#${user.uid}`))))));
  }

  function listView(model) {
    const isNumber = field => ['integer', 'real'].includes(field.type);
    return paged(model, `list/${model.name}`, model.name, (records, look) => {
      const column = (name, words, classes) => {
        const isSorted = look.sort === name;
        const sign = isSorted ? (look.descending ? ' ↓' : ' ↑') : '';
        return el('th', { scope: 'col', class: classes, 'aria-sort': isSorted ? (look.descending ? 'descending' : 'ascending') : null },
          el('button', { type: 'button', 'data-key': `sort ${name}`, onclick: () => {
            look.descending = isSorted && !look.descending;
            look.sort = name;
            look.pages = [null];
            update();
          } }, words + sign));
      };
      const cell = (record, field, index) => {
        const { text, id } = record.cells[index];
        if (text === undefined) return el('td', { class: 'quiet' }, '–');
        const shown = data(text, 'cut');
        const isName = field.name === model.nameField;
        const target = id ? path('record', field.target, id) : isName ? path('record', model.name, record.id) : null;
        return el('td', { class: isNumber(field) ? 'number' : null }, target ? el('a', { href: target, 'data-key': `${record.id} ${field.name}` }, shown) : shown);
      };
      return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Records of ${model.name}` }, el('table', {},
        el('thead', {}, el('tr', {}, column('uid', 'uid', 'number'),
          model.fields.map(field => column(field.name, field.name, isNumber(field) ? 'number' : null)), el('th', { scope: 'col' }, 'state'))),
        el('tbody', {}, records.map(record => el('tr', {},
          el('td', { class: 'number' }, el('a', { href: path('record', model.name, record.id), 'data-key': record.id, 'aria-label': `Open ${record.name}` }, record.uid === '-' ? 'new' : record.uid)),
          model.fields.map((field, index) => cell(record, field, index)), el('td', {}, state(record)))))));
    });
  }

  // MARK: One record

  /// The time that a number of microseconds since 1970 stands for, if it is one of this age: dates are stored like this.
  function timeOf(field, text) {
    if (field.type !== 'integer') return null;
    const value = Number(text);
    if (!(value > 6.3e14 && value < 4.2e15)) return null;
    return el('span', { class: 'was' }, `as a date: ${new Date(value / 1000).toISOString()}`);
  }

  function recordView(model, id) {
    return {
      title: model.name,
      touches: () => true,
      update: async () => {
        const record = await call('record', { collection: model.name, id });
        return () => {
          const rows = model.fields.map((field, index) => {
            const value = record.fields[index];
            const shown = value.text === undefined ? el('span', { class: 'quiet' }, '–')
              : value.id ? el('a', { href: path('record', field.target, value.id), 'data-key': field.name }, data(value.text))
                : data(value.text, field.type === 'json' ? 'value mono' : 'value');
            return [el('dt', {}, field.name), el('dd', {}, shown,
              value.text === undefined ? null : timeOf(field, value.text),
              value.server === undefined ? null : el('span', { class: 'was' }, el('span', { class: 'mark' }, 'pending'), ' the server has ', data(value.server)))];
          });
          const fact = (name, value) => [el('dt', {}, name), el('dd', {}, value)];
          document.title = `${record.name} · Tombolo inspector`;
          main(
            el('p', { class: 'crumbs' }, el('a', { href: path('list', model.name), 'data-key': 'up' }, model.name)),
            el('div', { class: 'head' }, model.isUser ? face(record.name, 'large') : null, el('h2', {}, data(record.name)),
              el('a', { class: 'button primary', href: path('record', model.name, id, 'edit'), 'data-key': 'edit' }, 'Edit'),
              el('button', { type: 'button', class: 'danger', 'data-key': 'delete', onclick: () => remove(model, id, record.name) }, 'Delete')),
            el('section', {}, el('h3', {}, 'Fields'), el('dl', { class: 'facts' }, rows.flat())),
            el('section', {}, el('h3', {}, 'Sync'), el('dl', { class: 'facts' },
              fact('state', record.pending ? [state(record), ' the server has not confirmed all its changes'] : state(record)),
              model.isUser ? fact('image', record.image ? data(record.image) : el('span', { class: 'quiet' }, '–')) : [],
              fact('space', record.space ?? '–'), fact('uid', record.uid), fact('version', record.version), fact('id', el('span', { class: 'mono' }, record.id)))));
        };
      } };
  }

  function remove(model, id, name) {
    confirm(`Delete ${name}?`, 'The deletion is sent with the next sync. Until then, syncctl outbox cancel undoes it.', 'Delete', async () => {
      await call('delete', { collection: model.name, id });
      say(`${name} was deleted`);
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
        const isName = record => target.nameField && !/^[-+]?[0-9]+$|^[0-9a-f-]{36}$/i.test(record.name);
        options.replaceChildren(...found.records.map(record => isName(record) ? el('option', { value: record.name }) : el('option', { value: record.id, label: record.name })));
      } catch { /* Without suggestions, the field works as before. */ }
    };
    input.addEventListener('focus', suggest, { once: true });
    input.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(suggest, 250); });
    return [input, options];
  }

  function hint(field, record) {
    const words = {
      text: 'text', integer: 'a whole number; a date is the number of microseconds since 1970 in UTC', real: 'a number, such as 1.5', boolean: 'yes or no', json: 'JSON',
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

  const rest = new Set(['intent', 'type', 'id']);
  const written = value => value === null ? el('span', { class: 'quiet' }, 'nothing')
    : data(typeof value === 'string' ? value : JSON.stringify(value));
  const target = (type, id) => collection(type) ? el('a', { href: path('record', type, id) }, data(type)) : data(type);

  function entryTable(titles, rows) {
    return el('div', { class: 'scroll', tabindex: '0' }, el('table', {},
      el('thead', {}, el('tr', {}, titles.map(title => el('th', { scope: 'col' }, title)))),
      el('tbody', {}, rows.map(row => el('tr', {}, row.map(cell => el('td', {}, cell)))))));
  }

  function changeRows(changes, server) {
    return changes.flatMap(change => {
      const names = Object.keys(change).filter(name => !rest.has(name));
      const row = server?.find(each => each.id === change.id);
      const record = [change.intent === 'create' ? 'create ' : change.intent === 'delete' ? 'delete ' : 'change ', target(change.type, change.id)];
      if (!names.length) return [[record, '', '', ...server ? [''] : []]];
      return names.map((name, index) => [index ? '' : record, data(name), written(change[name]), ...server ? [row && name in row ? written(row[name]) : ''] : []]);
    });
  }

  /// Reads pages of entries until as many are there as were shown before.
  function entriesView(name, title, options, empty, item) {
    let wanted = 1;
    return {
      title,
      touches: changed => changed.outbox,
      update: async () => {
        const entries = [];
        let next;
        for (let page = 0; page < wanted; page++) {
          const found = await call(name, { ...options.values?.(), after: next, limit: 20 });
          entries.push(...found.entries);
          next = found.next;
          if (next === undefined) break;
        }
        return () => main(
          el('div', { class: 'head' }, el('h2', {}, title), options.tools?.()),
          entries.length ? el('ul', { class: 'entries' }, entries.map(item)) : el('p', { class: 'empty' }, empty()),
          next === undefined ? null : el('div', { class: 'pager' },
            el('button', { type: 'button', 'data-key': 'more', onclick: () => { wanted += 1; update(); } }, 'Show more')));
      } };
  }

  function outboxView() {
    return entriesView('outbox', 'Outbox', {}, () => 'The outbox is empty: the server has confirmed everything that was written here.', entry => {
      const kind = { waiting: 'mark', sent: 'mark', answered: 'mark good' }[entry.state];
      return el('li', { class: 'entry' },
        el('div', { class: 'top' }, el('span', { class: 'quiet mono' }, `${entry.entry}`), el('strong', {}, data(entry.what)),
          el('span', { class: kind }, data(entry.words)), el('span', { class: 'mark plain' }, entry.space)),
        entryTable(['record', 'field', 'value'], changeRows(entry.changes)));
    });
  }

  // MARK: Journal

  function journalView() {
    let all = false;
    const tools = () => {
      const box = el('input', { type: 'checkbox', 'data-key': 'all', onchange: () => { all = box.checked; update(); } });
      box.checked = all;
      return el('label', { class: 'check' }, box, 'with handled entries');
    };
    return entriesView('journal', 'Journal', { values: () => ({ all }), tools }, () => all ? 'The journal is empty.' : 'No entry needs attention.', entry => {
      const isConflict = entry.conflicts !== undefined;
      const by = (account, isHere) => [account ? data(account) : null, account && isHere ? ', ' : null, isHere ? 'this device' : account ? null : 'another device'];
      const side = (value, account, isHere, isDelete) => [isDelete ? 'nothing: the record was deleted' : written(value),
        el('span', { class: 'was' }, 'by ', by(account, isHere))];
      const table = isConflict
        ? entryTable(['record', 'field', 'kept', 'lost'], entry.conflicts.map(each => [target(each.type, each.id), data(each.field),
          side(each.kept, each.keptBy, each.keptHere, each.rule === 'deleteWins'), side(each.lost, each.lostBy, each.lostHere, false)]))
        : entryTable(['record', 'field', 'value', ...entry.server ? ['the server has'] : []], changeRows(entry.changes, entry.server));
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
          el('span', { class: entry.state === 'active' ? (isConflict ? 'mark' : 'mark bad') : 'mark plain' }, entry.state), time(entry.at)),
        el('p', { class: 'why quiet' }, data(entry.why)), table,
        entry.state === 'restored' ? null : el('div', { class: 'actions' }, act('Write these values again', 'restore', 'restored'),
          entry.state === 'active' ? act('Dismiss', 'dismiss', 'dismissed') : null),
        problem);
    });
  }

  // MARK: Status

  function statusView() {
    const mark = (kind, text) => el('span', { class: `mark ${kind}` }, text);
    return {
      title: 'Status',
      touches: () => true,
      update: async () => {
        await refreshSummary();
        const status = summary.status;
        return () => {
          const fact = (name, ...value) => [el('dt', {}, name), el('dd', {}, value)];
          main(
            el('div', { class: 'head' }, el('h2', {}, 'Status')),
            el('section', {}, el('h3', {}, 'Sync'), el('dl', { class: 'facts' },
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
            el('section', {}, el('h3', {}, 'Spaces'), entryTable(['space', 'version', 'state'], status.spaces.map(space => [space.space, number(space.version),
              !space.access ? mark('bad', 'no access') : space.complete ? mark('good', 'complete') : mark('', 'not complete')]))),
            el('section', {}, el('h3', {}, 'Device'), el('dl', { class: 'facts' },
              fact('server', status.server ? data(status.server) : 'none is configured'), fact('account', status.account ? data(status.account) : 'none before the first contact'),
              fact('device', el('span', { class: 'mono' }, status.client)), fact('database', data(status.database)), fact('environment', status.environment))));
        };
      } };
  }

  // MARK: News

  const pause = time => new Promise(resolve => setTimeout(resolve, time));

  /// Waits for changes of the store, and shows them. Each call ends with the next change, or after some seconds.
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
        summary.status = latest.status;
        showStatus();
        if (!isOld) {
          await refreshSummary();
          if (view.touches(latest)) await update();
        }
        // Many changes in a row are shown together.
        await pause(250);
      } catch (error) {
        setFailure(error, 'news');
        // Another secret is needed, which only a person can give.
        if (error.status === 401) return;
        await pause(3000);
      }
    }
  }

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
})();
