// Draws the recording that the page carries. Texts reach the page as text nodes only.
(() => {
  'use strict';

  // MARK: The recording

  const data = JSON.parse(document.getElementById('data').textContent);
  const text = place => data.texts[place];
  const world = data.parties.length - 1;
  const events = data.events.map(([n, t, party, kind, words, detail, message]) =>
    ({ n, t, party, kind, text: text(words), detail: text(detail), message }));
  const messages = data.messages.map(
    ([id, kind, call, copy, from, to, label, detail, n, t, endN, endT, fate, late, damage]) =>
      ({ id, kind, call, copy, from, to, text: text(label), detail: text(detail), n, t, endN, endT, fate, late, damage: text(damage) }));
  const steps = data.steps.map(([name, n, t, holdings], index) => ({ name, n, t, begin: index ? data.steps[index - 1][2] : 0, holdings }));
  const messageByID = new Map(messages.map(message => [message.id, message]));
  const calls = new Map();
  for (const message of messages) {
    if (!calls.has(message.call)) calls.set(message.call, []);
    calls.get(message.call).push(message);
  }
  const doubled = new Set(messages.filter(message => message.copy > 0).map(message => message.call));
  const violation = events.findLast(event => event.kind === 'violation');

  /// Everything that happens at one place and moment, in order: events, departures, arrivals, ends of steps.
  const points = [];
  for (const event of events) points.push({ n: event.n, t: event.t, of: event, part: 'event' });
  for (const message of messages) {
    points.push({ n: message.n, t: message.t, of: message, part: 'sent' });
    if (message.endN >= 0) points.push({ n: message.endN, t: message.endT, of: message, part: 'ended' });
  }
  for (const step of steps) points.push({ n: step.n, t: step.t, of: step, part: 'step' });
  points.sort((a, b) => a.n - b.n);

  // MARK: Signs

  const groups = [
    { key: 'commit', name: 'local commits', kinds: ['commit'], cls: 'g-commit solid' },
    { key: 'server', name: 'server commits', kinds: ['serverCommit'], cls: 'g-server solid' },
    { key: 'conflict', name: 'conflicts', kinds: ['conflict'], cls: 'g-conflict solid' },
    { key: 'rejection', name: 'rejections', kinds: ['rejection'], cls: 'g-rejection solid' },
    { key: 'page', name: 'pages applied', kinds: ['page'], cls: 'g-page solid' },
    { key: 'fault', name: 'faults', kinds: ['down', 'suspended', 'cut', 'fault'], cls: 'g-fault' },
    { key: 'recovery', name: 'recoveries', kinds: ['up', 'resumed', 'connected'], cls: 'g-recovery' },
    { key: 'note', name: 'notes', kinds: ['note'], cls: 'g-note' },
  ];
  const groupOfKind = new Map(groups.flatMap(group => group.kinds.map(kind => [kind, group])));
  const messageGroups = [
    { key: 'request', name: 'requests' }, { key: 'answer', name: 'answers' }, { key: 'hint', name: 'hints' },
    { key: 'troubled', name: 'troubled messages' },
  ];
  const shapes = {
    note: 'M-2,0a2,2 0 1 0 4,0a2,2 0 1 0 -4,0', commit: 'M-5,0a5,5 0 1 0 10,0a5,5 0 1 0 -10,0',
    serverCommit: 'M-5,-5H5V5H-5Z', conflict: 'M0,-6L6,0L0,6L-6,0Z', rejection: 'M-5,-6L0,-1L5,-6L6,-5L1,0L6,5L5,6L0,1L-5,6L-6,5L-1,0L-6,-5Z',
    page: 'M-6,-4H6L0,6Z', up: 'M-5,5H5L0,-5Z', down: 'M-5,-5L5,5M5,-5L-5,5', suspended: 'M-3,-5V5M3,-5V5',
    resumed: 'M-4,-5L5,0L-4,5Z', cut: 'M-6,0H-2M2,0H6M-2,-5V5M2,-5V5', connected: 'M-6,0H6M-2,-4V4M2,-4V4',
    fault: 'M2,-7L-4,1H0L-2,7L4,-1H0Z', violation: 'M-3,-7H3L7,-3V3L3,7H-3L-7,3V-3Z', phase: 'M-6,0H6',
  };
  const fates = {
    onItsWay: 'still on its way at the end', arrived: 'arrived', lost: 'lost', refused: 'the connection was refused',
    busy: 'a proxy said that the server is busy', broken: 'the connection broke', undelivered: 'arrived, and nobody waited for it',
    intercepted: 'something on the way answered in the server\'s place',
    unreachable: 'no server was there, or it died over it',
  };
  const isTroubled = message =>
    message.fate !== 'arrived' || message.damage !== '' || message.late || doubled.has(message.call);

  // MARK: Small things

  const byID = id => document.getElementById(id);
  const svg = byID('diagram'), stage = byID('stage'), paper = byID('paper');
  function make(name, attributes, words) {
    const element = document.createElementNS(svg.namespaceURI, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (words !== undefined) element.textContent = words;
    return element;
  }
  function html(name, cls, words) {
    const element = document.createElement(name);
    if (cls) element.className = cls;
    if (words !== undefined) element.textContent = words;
    return element;
  }
  function clock(t) {
    const ms = Math.floor(t / 1000), pad = (value, digits) => String(value).padStart(digits, '0');
    const hours = Math.floor(ms / 3600000);
    return (hours ? hours + ':' : '') + pad(Math.floor(ms / 60000) % 60, 2) + ':' + pad(Math.floor(ms / 1000) % 60, 2) + '.' + pad(ms % 1000, 3);
  }
  /// Long identifiers by their ends, for labels; the panel shows them whole.
  const brief = words => words.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{8}([0-9a-f]{4})/gi, '…$1').replace(/\s+/g, ' ');
  /// The first of a sorted list that is not before; its length when all are.
  function firstIndex(list, isAtOrAfter) {
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isAtOrAfter(list[middle])) high = middle; else low = middle + 1;
    }
    return low;
  }
  const stepOf = n => Math.min(firstIndex(steps, step => step.n >= n), steps.length - 1);

  // MARK: What is shown

  const shown = { parties: new Set(data.parties.keys()), kinds: new Set([...groups, ...messageGroups].map(group => group.key)) };
  const choice = { step: 0, of: null };
  let zoom = 1, hits = [], hit = -1, hitSet = new Set(), needle = '';
  let lanes = [], x = [], laneWidth = 0, height = 0, buckets = [], lives = [], cuts = [];
  const bucketSize = 600, gutter = 150, smallestLane = 190, longest = 900;

  function isShown(of) {
    if ('endN' in of) {
      return shown.parties.has(of.from) && shown.parties.has(of.to)
        && (shown.kinds.has(of.kind) || (shown.kinds.has('troubled') && isTroubled(of)));
    }
    if (of.party === world || of.kind === 'violation' || of.kind === 'phase') return true;
    return shown.parties.has(of.party) && shown.kinds.has(groupOfKind.get(of.kind).key);
  }

  /// Of a message that takes very long, only both ends are drawn, unless it is chosen: many would hide all the rest.
  const isLong = message => message.endY - message.y > longest;

  // MARK: Layout: every point gets a place; time goes down, waiting is shortened

  function lay() {
    const parties = [...Array(world).keys()].filter(party => shown.parties.has(party));
    const server = parties.find(party => data.parties[party] === 'server');
    lanes = parties.filter(party => party !== server);
    if (server !== undefined) lanes.splice(Math.ceil(lanes.length / 2), 0, server);
    laneWidth = Math.max(smallestLane, (stage.clientWidth - gutter - 20) / Math.max(lanes.length, 1));
    x = [];
    lanes.forEach((party, index) => { x[party] = gutter + laneWidth * index + 20; });

    const bottom = new Array(world + 1).fill(0);
    let base = 8, last = 8, time = 0;
    lives = []; cuts = [];
    const life = lanes.map(() => ({ up: false, asleep: false, since: 0, cut: -1 }));
    function turn(index, y) {
      const now = life[index];
      if (y > now.since) lives.push({ party: lanes[index], from: now.since, to: y, cls: !now.up ? 'down' : now.asleep ? 'asleep' : '' });
      now.since = y;
    }
    for (const point of points) {
      const of = point.of, isWide = point.part === 'step' || (point.part === 'event' && (of.party === world || of.kind === 'violation' || of.kind === 'phase'));
      const visible = point.part === 'step' || isShown(of);
      let y = last;
      if (visible) {
        if (point.t > time) {
          base = Math.max(last, base) + 3 + Math.min(36, 7 * Math.log10(1 + (point.t - time) / 1000));
          time = point.t;
        }
        const party = point.part === 'event' ? of.party : point.part === 'sent' ? of.from : of.to;
        y = Math.max(base, isWide ? Math.max(...bottom) : bottom[party]);
        const need = point.part === 'step' ? 4 : isWide ? 20 : point.part === 'event' ? 17 : 6;
        if (isWide) { bottom.fill(y + need); if (point.part !== 'step') y += 8; } else bottom[party] = y + need;
        last = Math.max(last, y);
      }
      if (point.part === 'ended') of.endY = y; else of.y = y;
      if (point.part !== 'event') continue;
      const index = lanes.indexOf(of.party);
      if (index < 0) continue;
      const now = life[index];
      switch (of.kind) {
        case 'up': turn(index, y); now.up = true; break;
        case 'down': turn(index, y); now.up = false; break;
        case 'suspended': turn(index, y); now.asleep = true; break;
        case 'resumed': turn(index, y); now.asleep = false; break;
        case 'cut': if (now.cut < 0) now.cut = y; break;
        case 'connected': if (now.cut >= 0) { cuts.push({ party: of.party, from: now.cut, to: y }); now.cut = -1; } break;
      }
    }
    height = Math.max(last, ...bottom) + 24;
    lanes.forEach((party, index) => {
      turn(index, height);
      if (life[index].cut >= 0) cuts.push({ party, from: life[index].cut, to: height });
    });
    for (const message of messages) if (message.endN < 0) message.endY = height;
    steps.forEach((step, index) => { step.top = index ? steps[index - 1].y : 0; });

    buckets = Array.from({ length: Math.floor(height / bucketSize) + 1 }, () => ({ events: [], messages: [] }));
    for (const event of events) if (isShown(event)) buckets[Math.floor(event.y / bucketSize)].events.push(event);
    for (const message of messages) {
      if (!isShown(message)) continue;
      const from = Math.floor(Math.min(message.y, message.endY) / bucketSize), to = Math.floor(Math.max(message.y, message.endY) / bucketSize);
      if (isLong(message)) for (const bucket of [from, to]) buckets[bucket].messages.push(message);
      else for (let bucket = from; bucket <= to; bucket += 1) buckets[bucket].messages.push(message);
    }

    const heads = byID('lanes');
    heads.replaceChildren(html('span', 'time', 'virtual time'));
    for (const party of lanes) {
      const head = html('span', '', data.parties[party]);
      head.style.left = x[party] + 'px';
      heads.append(head);
    }
    const width = gutter + laneWidth * lanes.length + 20;
    heads.style.width = paper.style.width = width + 'px';
    svg.setAttribute('width', width);
    drawn = null;
    size();
  }

  function size() {
    paper.style.height = height * zoom + 'px';
    drawn = null;
    draw();
  }

  // MARK: Drawing: only what can be seen, and a little around it

  let drawn = null, printing = null;

  function draw() {
    const margin = 500;
    const view = printing ?? { from: stage.scrollTop, to: stage.scrollTop + stage.clientHeight };
    if (drawn && view.from >= drawn.from && view.to <= drawn.to) return;
    const from = Math.max(0, Math.floor(view.from - (printing ? 0 : margin))), to = Math.min(height * zoom, view.to + (printing ? 0 : margin));
    drawn = { from, to: to >= height * zoom ? Infinity : to };
    svg.style.top = (printing ? 0 : from) + 'px';
    svg.setAttribute('height', Math.max(to - from, 1));
    const sheet = make('g', { transform: `translate(0 ${-from})` });
    drawSteps(sheet, from, to);
    for (const life of lives) {
      if (life.to * zoom < from || life.from * zoom > to) continue;
      sheet.append(make('line', { class: 'life ' + life.cls, x1: x[life.party], x2: x[life.party], y1: Math.max(life.from * zoom, from), y2: Math.min(life.to * zoom, to) }));
    }
    for (const cut of cuts) {
      if (cut.to * zoom < from || cut.from * zoom > to) continue;
      for (const side of [-6, 6]) sheet.append(make('line', { class: 'cut', x1: x[cut.party] + side, x2: x[cut.party] + side, y1: Math.max(cut.from * zoom, from), y2: Math.min(cut.to * zoom, to) }));
    }
    const seen = new Set();
    const first = Math.floor(from / zoom / bucketSize), last = Math.min(Math.floor(to / zoom / bucketSize), buckets.length - 1);
    for (let bucket = first; bucket <= last; bucket += 1) {
      for (const message of buckets[bucket].messages) {
        if (seen.has(message)) continue;
        seen.add(message);
        drawMessage(sheet, message);
      }
    }
    for (const of of [choice.of, hits[hit]]) {
      if (of && 'endN' in of && isLong(of) && isShown(of)) drawMessage(sheet, of, true);
    }
    for (let bucket = first; bucket <= last; bucket += 1) for (const event of buckets[bucket].events) drawEvent(sheet, event);
    svg.replaceChildren(sheet);
  }

  function drawSteps(sheet, from, to) {
    let index = firstIndex(steps, step => step.y * zoom >= from), label = -Infinity;
    for (; index < steps.length; index += 1) {
      const step = steps[index], top = step.top * zoom, bottom = step.y * zoom;
      if (top > to) break;
      if (index === choice.step) sheet.append(make('rect', { class: 'chosen-step', x: 0, y: top, width: '100%', height: Math.max(bottom - top, 2) }));
      sheet.append(make('line', { class: 'rule', x1: gutter - 20, x2: '100%', y1: bottom, y2: bottom }));
      if (top - label >= 15) {
        sheet.append(make('text', { class: 'clock', x: 6, y: top + 13 }, bottom - top > 27 || zoom >= 1 ? step.name : step.name + '  ' + clock(step.begin)));
        label = top;
        if (bottom - top > 27) { sheet.append(make('text', { class: 'clock', x: 6, y: top + 27 }, clock(step.begin))); label += 14; }
      }
    }
  }

  function marks(of) {
    return (choice.of === of ? ' chosen' : '') + (hitSet.has(of) ? ' hit' : '') + (hits[hit] === of ? ' is-now' : '');
  }

  function drawEvent(sheet, event) {
    const y = event.y * zoom, isWide = event.party === world || event.kind === 'violation' || event.kind === 'phase';
    const cls = isWide ? (event.kind === 'violation' ? 'g-world solid' : 'g-note') : groupOfKind.get(event.kind).cls;
    const place = x[event.party] ?? gutter + 20;
    const group = make('g', { class: 'sign ' + cls + marks(event), transform: `translate(${place} ${y})`, 'data-event': event.n });
    group.append(make('title', {}, `${clock(event.t)} ${data.parties[event.party]}: ${event.text}`));
    if (isWide) group.append(make('line', { class: 'rule ' + (event.kind === 'violation' ? 'broken' : 'world'), x1: -place, x2: svg.getAttribute('width') - place, y1: 9, y2: 9 }));
    const room = isWide ? 150 : Math.floor((laneWidth - 34) / 6.1);
    group.append(make('rect', { class: 'target', x: -8, y: -8, width: zoom < 0.7 && !isWide ? 16 : Math.min(brief(event.text).length, room) * 6.1 + 24, height: 16 }));
    group.append(make('path', { d: shapes[event.kind] ?? shapes.note }));
    if (zoom >= 0.7 || isWide || event.kind === 'violation') {
      const words = brief(event.text);
      group.append(make('text', { class: event.kind === 'note' ? 'quiet' : '', x: 12, y: 4 }, words.length > room ? words.slice(0, room - 1) + '…' : words));
    }
    sheet.append(group);
  }

  function drawMessage(sheet, message, isWhole) {
    if (isLong(message) && !isWhole) {
      const x1 = x[message.from], x2 = x[message.to], part = (x2 - x1) * 0.3, y1 = message.y * zoom, y2 = message.endY * zoom;
      drawWay(sheet, message, x1, y1, x1 + part, y1 + 22, 'leaves');
      drawWay(sheet, message, x2 - part, y2 - 22, x2, y2, 'comes');
    } else {
      drawWay(sheet, message, x[message.from], message.y * zoom, x[message.to], message.endY * zoom, 'whole');
    }
  }

  function drawWay(sheet, message, x1, y1, x2, y2, piece) {
    const reach = piece === 'leaves' ? 1 : { lost: 0.7, refused: 0.93, busy: 0.85, broken: 0.6, onItsWay: 0.9 }[message.fate] ?? 1;
    const ex = x1 + (x2 - x1) * reach, ey = y1 + (y2 - y1) * reach, angle = Math.atan2(y2 - y1, x2 - x1);
    const failed = !['arrived', 'undelivered', 'onItsWay'].includes(message.fate);
    const group = make('g', {
      class: `message ${message.kind} g-${message.kind}` + (message.late ? ' late' : '') + (doubled.has(message.call) ? ' twice' : '')
        + (message.damage ? ' harmed' : '') + (failed ? ' failed' : '') + (message.fate === 'undelivered' ? ' undelivered' : '') + marks(message),
      'data-message': message.id,
    });
    group.append(make('title', {}, describe(message)));
    group.append(make('line', { class: 'wide', x1, y1, x2: ex, y2: ey }));
    group.append(make('line', { class: 'way', x1, y1, x2: ex, y2: ey }));
    if (message.copy > 0) {
      const dx = -Math.sin(angle) * 3.5, dy = Math.cos(angle) * 3.5;
      group.append(make('line', { class: 'way', x1: x1 + dx, y1: y1 + dy, x2: ex + dx, y2: ey + dy }));
    }
    const turn = `translate(${ex} ${ey}) rotate(${angle * 180 / Math.PI})`;
    const dots = 'M0,-2a2,2 0 1 0 .1,0M7,-2a2,2 0 1 0 .1,0M14,-2a2,2 0 1 0 .1,0';
    if (piece === 'leaves') group.append(make('path', { d: dots, transform: turn }));
    else group.append(make('path', message.fate === 'onItsWay' ? { d: '' } : failed
      ? { d: { refused: 'M0,-7V7', busy: 'M0,-5a5,5 0 1 0 .1,0' }[message.fate] ?? 'M-5,-5L5,5M-5,5L5,-5', transform: turn }
      : message.kind === 'request' ? { class: 'head full', d: 'M0,0L-9,-4.5V4.5Z', transform: turn } : { class: 'head', d: 'M-8,-4.5L0,0L-8,4.5', transform: turn }));
    if (message.damage && piece !== 'comes') group.append(make('path', { d: 'M3,-9L-4,0H3L-3,9', transform: `translate(${(x1 + ex) / 2} ${(y1 + ey) / 2})` }));
    const words = [message.kind === 'request' ? message.text : '', message.copy > 0 ? 'again' : '', message.late ? 'late' : '', failed ? message.fate : '', message.damage ? 'damaged' : '',
      piece === 'leaves' ? (message.endN < 0 ? 'never there' : 'till ' + clock(message.endT)) : piece === 'comes' ? 'sent ' + clock(message.t) : ''].filter(word => word).join(', ');
    if (words && zoom >= 0.7) {
      // At the far end of the way: near the sender stand the sender's own signs.
      const share = piece === 'leaves' ? 1.1 : piece === 'comes' ? 0.1 : Math.min(reach, 1) - 0.06, anchor = (x2 > x1) === (piece === 'whole') ? 'end' : 'start';
      group.append(make('text', { x: x1 + (x2 - x1) * share, y: y1 + (y2 - y1) * share + (piece === 'leaves' ? 12 : -5), 'text-anchor': anchor }, brief(words)));
    }
    sheet.append(group);
  }

  function describe(message) {
    const way = `${data.parties[message.from]} → ${data.parties[message.to]}`;
    return `${message.kind} ${way}: ${message.text} (${[fates[message.fate], message.late ? 'late' : '', message.damage].filter(word => word).join(', ')})`;
  }

  // MARK: Choosing

  function choose(step, of, scrolls) {
    if (!steps.length && !of) return;
    choice.step = Math.max(0, Math.min(step, steps.length - 1));
    choice.of = of ?? null;
    drawn = null;
    if (scrolls) {
      const y = (of ? of.y : steps[choice.step].top) * zoom, page = stage.clientHeight;
      if (y < stage.scrollTop + 40 || y > stage.scrollTop + page - 80) stage.scrollTop = y - page / 3;
      if (of && !('endN' in of) && x[of.party] !== undefined) {
        const place = x[of.party];
        if (place < stage.scrollLeft || place > stage.scrollLeft + stage.clientWidth - 100) stage.scrollLeft = place - gutter;
      }
    }
    draw();
    tell();
    const hash = !of ? '#step=' + choice.step : 'endN' in of ? '#message=' + of.id : '#event=' + of.n;
    if (location.hash !== hash) { ownHash = hash; location.replace(hash); }
  }
  let ownHash = '';

  function chooseThing(of, scrolls = true) { choose(stepOf(of.n), of, scrolls); }

  function readHash() {
    if (location.hash === ownHash && ownHash) return;
    const [, key, value] = /^#(\w+)(?:=(\d+))?$/.exec(location.hash) ?? [];
    const number = Number(value);
    if (key === 'step') choose(number, null, true);
    else if (key === 'event' && events.some(event => event.n === number)) chooseThing(events.find(event => event.n === number));
    else if (key === 'message' && messageByID.has(number)) chooseThing(messageByID.get(number));
    else if (violation) chooseThing(violation);
    else choose(0, null, true);
  }

  /// Steps before or after, among the events that are shown.
  function walk(by) {
    const list = events.filter(isShown);
    if (!list.length) return;
    const n = choice.of ? choice.of.n : steps[choice.step - 1]?.n ?? 0;
    const here = firstIndex(list, event => event.n >= n);
    const isOnOne = list[here]?.n === n;
    const next = by > 0 ? here + (isOnOne ? 1 : 0) : here - 1;
    if (list[next]) chooseThing(list[next]);
  }

  // MARK: The panel

  function tell() {
    const step = steps[choice.step];
    byID('step-name').textContent = step ? `${step.name}, ${clock(step.begin)} to ${clock(step.t)}` : 'no step';
    byID('step-before').disabled = choice.step <= 0;
    byID('step-after').disabled = choice.step >= steps.length - 1;
    tellChosen();
    if (!step) return;
    const holdings = byID('holdings');
    holdings.replaceChildren(html('h3', '', 'What each held at its end'));
    const before = steps[choice.step - 1];
    for (const party of [...lanes, ...[...Array(world).keys()].filter(party => !lanes.includes(party))]) {
      if (step.holdings[party] === undefined || step.holdings[party] < 0) continue;
      holdings.append(card(party, step.holdings[party], before?.holdings[party]));
    }
    tellHappened(before ? before.n : 0, step.n);
  }

  function facts(place) {
    const found = new Map();
    if (place === undefined || place < 0) return found;
    const list = data.holdings[place][1];
    for (let index = 0; index < list.length; index += 2) found.set(text(list[index]), text(list[index + 1]));
    return found;
  }

  function card(party, place, placeBefore) {
    const [isUp, , outbox, unlisted] = data.holdings[place], section = html('section', 'party');
    const title = html('h3', '', data.parties[party]);
    title.append(html('span', isUp ? 'state' : 'state down', isUp ? 'up' : 'down'));
    section.append(title);
    const before = facts(placeBefore), hasBefore = placeBefore !== undefined && placeBefore >= 0, list = html('dl');
    for (const [name, value] of facts(place)) {
      const isNew = hasBefore && before.get(name) !== value;
      list.append(html('dt', '', name));
      const cell = html('dd', isNew ? 'changed' : '', value);
      if (isNew && before.has(name)) cell.append(html('span', 'was', ' (was ' + before.get(name) + ')'));
      list.append(cell);
    }
    section.append(list);
    if (outbox.length) {
      const known = new Set(hasBefore ? data.holdings[placeBefore][2] : outbox), entries = html('ol');
      for (const entry of outbox) entries.append(html('li', known.has(entry) ? '' : 'changed', text(entry)));
      if (unlisted > 0) entries.append(html('li', '', `and ${unlisted} more`));
      section.append(entries);
    }
    return section;
  }

  function tellChosen() {
    const of = choice.of, box = byID('chosen');
    box.replaceChildren();
    if (!of) return;
    if ('endN' in of) {
      box.append(html('p', '', describe(of)));
      box.append(html('p', 'kind', `sent ${clock(of.t)}` + (of.endN >= 0 ? `, ended ${clock(of.endT)}` : '') + (of.copy > 0 ? ', a second copy' : '')));
      for (const other of calls.get(of.call) ?? []) if (other !== of) box.append(link(other, 'same call: ' + describe(other)));
    } else {
      box.append(html('p', '', `${data.parties[of.party]}: ${of.text}`));
      box.append(html('p', 'kind', `${of.kind}, ${clock(of.t)}`));
      if (messageByID.has(of.message)) box.append(link(messageByID.get(of.message), 'over: ' + describe(messageByID.get(of.message))));
    }
    if (of.detail) box.append(html('pre', '', of.detail));
  }

  function link(of, words) {
    const button = html('button', '', words);
    button.type = 'button';
    button.addEventListener('click', () => chooseThing(of));
    return button;
  }

  const mostHappened = 500;

  function tellHappened(after, upTo) {
    const list = byID('happened');
    list.replaceChildren();
    const from = firstIndex(points, point => point.n > after), to = firstIndex(points, point => point.n > upTo);
    for (const point of points.slice(from, Math.min(to, from + mostHappened))) {
      if (point.part === 'step') continue;
      const of = point.of;
      const words = point.part === 'event' ? `${data.parties[of.party]}: ${of.text}`
        : point.part === 'sent' ? `${data.parties[of.from]} sends ${of.kind} ${of.text}` : `${of.kind} ${of.text} to ${data.parties[of.to]}: ${fates[of.fate]}`;
      const item = html('li'), button = link(of, '');
      button.append(html('span', 'when', clock(point.t) + ' '), brief(words));
      if (of === choice.of) button.className = 'chosen';
      item.append(button);
      list.append(item);
    }
    if (to - from > mostHappened) list.append(html('li', 'kind', `and ${to - from - mostHappened} more`));
  }

  // MARK: Searching

  function search() {
    needle = byID('search').value.trim().toLowerCase();
    hits = []; hit = -1;
    if (needle) {
      const contains = of => (of.text + '\n' + of.detail + '\n' + ('endN' in of ? `${data.parties[of.from]} ${data.parties[of.to]} ${of.kind} ${of.fate} ${of.damage}` : `${data.parties[of.party]} ${of.kind}`)).toLowerCase().includes(needle);
      hits = [...events, ...messages].filter(of => isShown(of) && contains(of)).sort((a, b) => a.n - b.n);
    }
    hitSet = new Set(hits);
    drawn = null;
    draw();
    count();
  }
  function count() {
    byID('hits').value = !needle ? '' : !hits.length ? 'nothing' : hit < 0 ? `${hits.length} hits` : `${hit + 1} of ${hits.length}`;
  }
  function nextHit(by) {
    if (!hits.length) return;
    if (hit < 0) {
      const n = choice.of?.n ?? steps[choice.step - 1]?.n ?? 0, after = firstIndex(hits, of => of.n >= n);
      hit = by > 0 ? after : after - 1;
    } else hit += by;
    hit = (hit + hits.length) % hits.length;
    chooseThing(hits[hit]);
    count();
  }

  function magnify(by) {
    const middle = (stage.scrollTop + stage.clientHeight / 2) / zoom;
    zoom = Math.min(3, Math.max(0.1, zoom * by));
    size();
    stage.scrollTop = middle * zoom - stage.clientHeight / 2;
  }

  /// After the filters have changed: what was chosen stays where it is on the screen.
  function layAgain() {
    const of = choice.of && isShown(choice.of) ? choice.of : steps[choice.step];
    const offset = of ? of.y * zoom - stage.scrollTop : 0;
    lay();
    if (of) stage.scrollTop = of.y * zoom - offset;
    search();
  }

  // MARK: Setting up

  function filter(parent, set, key, name) {
    const label = html('label'), box = html('input');
    box.type = 'checkbox';
    box.checked = true;
    box.addEventListener('change', () => {
      if (box.checked) set.add(key); else set.delete(key);
      layAgain();
    });
    label.append(box, ' ' + name);
    byID(parent).append(label);
  }
  data.parties.forEach((name, party) => { if (party !== world) filter('parties', shown.parties, party, name); });
  for (const group of [...groups, ...messageGroups]) filter('kinds', shown.kinds, group.key, group.name);

  function legend() {
    const list = byID('legend');
    const add = (drawing, words) => {
      const item = html('li'), picture = make('svg', { width: 60, height: 20, viewBox: '0 0 60 20' });
      drawing(picture);
      item.append(picture, words);
      list.append(item);
    };
    const names = {
      commit: 'a user’s transaction, committed on the device', serverCommit: 'the server has applied something',
      conflict: 'applied, and it met other edits', rejection: 'refused by the server', page: 'a page was applied', up: 'starts', down: 'killed',
      suspended: 'suspended', resumed: 'wakes', cut: 'cut off', connected: 'connected again', fault: 'power, disk, clock, a restore, a roll-back', note: 'anything else',
      violation: 'a promise was broken',
    };
    for (const kind in names) {
      add(picture => {
        const group = make('g', { class: 'sign ' + (groupOfKind.get(kind)?.cls ?? 'g-world solid'), transform: 'translate(30 10)' });
        group.append(make('path', { d: shapes[kind] }));
        picture.append(group);
      }, names[kind]);
    }
    const way = (changes, words) => add(picture => {
      const kept = x;
      x = [2, 56];
      drawMessage(picture, { id: -1, kind: 'request', call: -1, copy: 0, from: 0, to: 1, text: '', detail: '', y: 4 / zoom, endY: 16 / zoom, fate: 'arrived', late: false, damage: '', n: -1, endN: 0, ...changes, isSample: true });
      for (const words of picture.querySelectorAll('text')) words.remove();
      x = kept;
    }, words);
    way({}, 'request'); way({ kind: 'answer' }, 'answer'); way({ kind: 'hint' }, 'hint'); way({ fate: 'lost' }, 'lost, or the connection broke');
    way({ fate: 'refused' }, 'connection refused'); way({ fate: 'busy' }, 'a proxy says: busy'); way({ damage: 'x' }, 'damaged'); way({ copy: 1 }, 'second copy of a doubled one');
    way({ late: true }, 'late: it takes much longer than others'); way({ fate: 'undelivered' }, 'arrived, and nobody waited for it');
    for (const [cls, words] of [['', 'its process runs'], ['down', 'it does not run'], ['asleep', 'it is suspended']]) {
      add(picture => picture.append(make('line', { class: 'life ' + cls, x1: 2, x2: 58, y1: 10, y2: 10 })), words);
    }
  }

  const outcome = byID('outcome');
  outcome.textContent = data.failure === null ? 'No violation' : data.failure.split('\n')[0];
  outcome.title = data.failure ?? '';
  outcome.className = data.failure === null ? 'passed' : 'failed';
  byID('to-violation').hidden = !violation;
  for (const id of ['outcome', 'to-violation']) byID(id).addEventListener('click', () => violation && chooseThing(violation));
  for (const [name, value] of [...data.facts, ['events', String(events.length)], ['messages', String(messages.length)], ...(data.forgotten ? [['too many to be kept', String(data.forgotten)]] : [])]) {
    byID('facts').append(html('dt', '', name), html('dd', '', value));
  }
  byID('step-before').addEventListener('click', () => choose(choice.step - 1, null, true));
  byID('step-after').addEventListener('click', () => choose(choice.step + 1, null, true));
  byID('zoom-in').addEventListener('click', () => magnify(1.25));
  byID('zoom-out').addEventListener('click', () => magnify(0.8));
  byID('hit-after').addEventListener('click', () => nextHit(1));
  byID('hit-before').addEventListener('click', () => nextHit(-1));
  let typing = 0;
  byID('search').addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(search, 120); });
  byID('search').addEventListener('keydown', event => {
    if (event.key !== 'Enter') return;
    clearTimeout(typing);
    if (byID('search').value.trim().toLowerCase() !== needle) search();
    nextHit(event.shiftKey ? -1 : 1);
  });

  svg.addEventListener('click', event => {
    const thing = event.target.closest('[data-event], [data-message]');
    if (thing?.dataset.event) return chooseThing(events.find(other => other.n === Number(thing.dataset.event)), false);
    if (thing?.dataset.message) return chooseThing(messageByID.get(Number(thing.dataset.message)), false);
    const y = (event.clientY - svg.getBoundingClientRect().top + (drawn?.from ?? 0)) / zoom;
    choose(firstIndex(steps, step => step.y >= y), null, false);
  });
  stage.addEventListener('wheel', event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    magnify(event.deltaY < 0 ? 1.15 : 1 / 1.15);
  }, { passive: false });

  const keys = {
    ArrowDown: () => choose(choice.step + 1, null, true), j: () => choose(choice.step + 1, null, true),
    ArrowUp: () => choose(choice.step - 1, null, true), k: () => choose(choice.step - 1, null, true),
    ArrowRight: () => walk(1), ArrowLeft: () => walk(-1),
    Home: () => choose(0, null, true), End: () => choose(steps.length - 1, null, true),
    '/': () => byID('search').select(), n: () => nextHit(1), N: () => nextHit(-1),
    '+': () => magnify(1.25), '=': () => magnify(1.25), '-': () => magnify(0.8),
    v: () => violation && chooseThing(violation), Escape: () => { document.activeElement.blur(); choose(choice.step, null, false); },
  };
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement && event.key !== 'Escape') return;
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });

  let isWaiting = false;
  stage.addEventListener('scroll', () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => { isWaiting = false; draw(); });
  });
  let laidWidth = stage.clientWidth;
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (stage.clientWidth !== laidWidth) { laidWidth = stage.clientWidth; layAgain(); } else draw();
  })).observe(stage);
  addEventListener('hashchange', readHash);

  // On paper: all of a short run, and of a long one what surrounds the choice.
  const mostPrinted = 6000;
  addEventListener('beforeprint', () => {
    const middle = (choice.of ?? steps[choice.step])?.y * zoom || 0, whole = height * zoom;
    const from = whole <= mostPrinted ? 0 : Math.max(0, middle - mostPrinted / 2);
    printing = { from, to: Math.min(whole, from + mostPrinted) };
    paper.style.height = printing.to - printing.from + 'px';
    drawn = null;
    draw();
  });
  addEventListener('afterprint', () => { printing = null; size(); });

  if (innerWidth < 800) byID('filters').open = false;
  lay();
  legend();
  readHash();
  document.documentElement.dataset.ready = 'yes';
})();
