// jobs: the tables of waiting, running and ended jobs, a page at a time, because thousands may wait.
import {$, el, icon, text, attr, variable, show, reconcile, toast} from './dom.js';
import * as f from './format.js';
import {model, on, emit, loads, touch, now} from './model.js';
import {get} from './api.js';
import {openJob, expected} from './job.js';
import {setSign, allTypes} from './gpus.js';

const PAGE = 10;
let user = ''; // whose jobs are shown; '' = everybody's

class Table {
  constructor(name, state, columns, words) {
    this.name = name;
    this.state = state;
    this.columns = columns;
    this.words = words;
    this.cursors = [null]; // what to ask after for each page up to this one
    this.next = null;
    this.jobs = [];
    this.total = null;
    this.section = $(`#${name}`);
    this.pager = $('.pager', this.section);
    loads(name, () => this.load());
  }

  async load() {
    const after = this.cursors[this.cursors.length - 1];
    const query = new URLSearchParams({state: this.state, limit: PAGE});
    if (user) query.set('user', user);
    if (this.state === 'ended') query.set('order', 'end');
    if (after !== null) query.set('after', after);
    const answer = await get(`/v1/jobs?${query}`);
    if (answer.jobs.length === 0 && this.cursors.length > 1) {
      this.cursors.pop(); // what was on this page is gone
      touch(this.name);
      return;
    }
    this.jobs = answer.jobs;
    if (this.name === 'queue') reach = Math.max(0, ...this.jobs.map((job) => (job.start_p90 ?? 0) - now()));
    this.next = answer.next;
    this.total = user ? null : this.words.total(answer.counts || {});
    this.render();
  }

  reset() {
    this.cursors = [null];
    touch(this.name);
  }

  render() {
    reconcile($('tbody', this.section), this.jobs, (job) => job.id, (job) => this.createRow(job), (row, job) => this.updateRow(row, job));
    const empty = this.jobs.length === 0;
    show($('table', this.section), !empty);
    const note = $('.empty', this.section);
    show(note, empty);
    if (empty) this.renderNone(note);
    this.renderPager();
  }

  renderNone(note) {
    const fresh = this.name === 'queue' && !user && model.cluster && model.cluster.counts.submitted === 0 && model.cluster.counts.running === 0;
    text(note, user ? this.words.none.replace('.', ` of ${user}.`) : this.words.none);
    if (fresh) note.append(' Try ', el('code', {}, 'adlro submit --gpus 1 -- sleep 10'), ', or press ', el('kbd', {}, 's'), ' here.');
  }

  renderPager() {
    const first = (this.cursors.length - 1) * PAGE + 1;
    const last = first + this.jobs.length - 1;
    const pages = this.cursors.length > 1 || this.next !== null;
    if (!this.pager.firstChild) {
      this.pager.append(el('span'),
        el('button', {type: 'button', class: 'quiet', 'aria-label': 'Previous page', onclick: () => { this.cursors.pop(); touch(this.name); }}, icon('prev')),
        el('button', {type: 'button', class: 'quiet', 'aria-label': 'Next page', onclick: () => { this.cursors.push(this.next); touch(this.name); }}, icon('next')));
    }
    const [label, previous, next] = this.pager.children;
    const total = this.total === null ? '' : ` of ${f.count(this.total)}`;
    text(label, !pages ? (this.jobs.length && this.name !== 'ended' ? f.count(this.jobs.length) : '') : `${f.count(first)}–${f.count(last)}${total}`);
    for (const button of [previous, next]) show(button, pages);
    attr(previous, 'disabled', this.cursors.length === 1);
    attr(next, 'disabled', this.next === null);
  }

  createRow(job) {
    const open = el('button', {type: 'button', class: 'link', 'aria-label': `Job ${job.label}`}, `#${job.label}`);
    const row = el('tr', {role: 'row'});
    row.append(el('td', {role: 'cell', class: 'c-id'}, open));
    for (const column of this.columns) row.append(column.create(el('td', {role: 'cell', class: `c-${column.name}`})));
    row.addEventListener('click', () => openJob(job.id));
    return row;
  }

  updateRow(row, job) {
    row.job = job;
    attr(row, 'data-mine', model.me && model.me.user === job.user);
    this.columns.forEach((column, i) => column.update(row.children[i + 1], job));
  }

  tick() {
    for (const row of $('tbody', this.section).children)
      this.columns.forEach((column, i) => column.ticks && column.update(row.children[i + 1], row.job));
  }
}

const plain = (name, value, more = {}) => ({name, create: (cell) => cell, update: (cell, job) => text(cell, value(job)), ...more});

const nameColumn = {
  name: 'name',
  create: (cell) => cell,
  update(cell, job) {
    text(cell, job.name || f.DASH);
    attr(cell, 'title', job.command || null);
  },
};
const userColumn = plain('user', (job) => job.user);

const elapsed = (job) => (typeof job.start_s === 'number' ? Math.max(0, now() - job.start_s) : null);

// The band reaches from the median to the time by which nine of ten such jobs start; all rows of the page have one scale, from now on.
let reach = 0; // its length in seconds
const startColumn = {
  name: 'start',
  ticks: true,
  create(cell) {
    cell.append(el('span'), el('span', {class: 'unseen'}), el('span', {class: 'band', 'aria-hidden': 'true'}, el('i')));
    return cell;
  },
  update(cell, job) {
    const [at, more, band] = cell.children;
    const words = expected(job.start_p50, job.start_p90, job.start_basis);
    const place = (time) => Math.min(1, Math.max(0, (time - now()) / Math.max(1, reach)));
    text(at, f.soon(job.start_p50, now()));
    text(more, words ? words.slice(words.indexOf(',')) : '');
    attr(cell, 'title', words ? `Expected ${words}; as of ${f.clock(job.forecast_at)}` : null);
    show(band, words);
    if (!words) return;
    const from = place(job.start_p50);
    variable(band.firstChild, '--from', from.toFixed(3));
    variable(band.firstChild, '--wide', Math.max(0, place(job.start_p90 ?? job.start_p50) - from).toFixed(3));
  },
};

const limitColumn = {
  name: 'limit',
  ticks: true,
  create(cell) {
    cell.append(el('span', {class: 'bar', 'aria-hidden': 'true'}, el('i')), el('span'));
    return cell;
  },
  update(cell, job) {
    const part = job.time_limit_s > 0 ? Math.min(1, (elapsed(job) ?? 0) / job.time_limit_s) : 0;
    variable($('i', cell), '--part', part.toFixed(3));
    attr(cell, 'data-late', part > 0.9);
    text(cell.lastChild, job.stage === 'stopping' ? 'stopping' : f.span(job.time_limit_s));
  },
};

// Where it runs, and below it that it does not use its GPUs.
const placeColumn = {
  name: 'on',
  create(cell) {
    cell.append(el('span'), el('small', {class: 'idle'}));
    return cell;
  },
  update(cell, job) {
    text(cell.firstChild, where(job));
    text(cell.lastChild, job.idle_gpus > 0 ? job.reason : '');
    show(cell.lastChild, job.idle_gpus > 0);
  },
};

const resultColumn = {
  name: 'result',
  create(cell) {
    cell.append(el('span', {class: 'state'}), el('small'));
    return cell;
  },
  update(cell, job) {
    const failed = job.state === 'F';
    setSign(cell.firstChild, job.state, f.STATES[job.state] || job.state);
    text(cell.lastChild, job.reason || (failed && typeof job.exit_code === 'number' ? `exit code ${job.exit_code}` : ''));
  },
};

const where = (job) => {
  const nodes = [...new Set((job.allocation || []).map((gpu) => gpu.node))];
  return `${f.allocation(job.allocation)}${nodes.length ? ` on ${nodes.slice(0, 2).join(', ')}${nodes.length > 2 ? '…' : ''}` : ''}`;
};

export function startJobs() {
  const tables = [
    new Table('queue', 'PD',
      [nameColumn, userColumn, plain('wants', (job) => f.request(job, allTypes())), plain('time', (job) => f.duration(now() - job.submit_s), {ticks: true}), startColumn, plain('why', (job) => job.reason)],
      {none: 'Nothing waits.', total: (counts) => counts.pending ?? null}),
    new Table('running', 'R',
      [nameColumn, userColumn, placeColumn, plain('time', (job) => f.duration(elapsed(job)), {ticks: true}), limitColumn],
      {none: 'Nothing runs.', total: (counts) => counts.running ?? null}),
    new Table('ended', 'ended',
      [nameColumn, userColumn, resultColumn, plain('time', (job) => f.duration(job.start_s ? job.run_s : null)),
       plain('end', (job) => (typeof job.end_s === 'number' ? `${f.duration(now() - job.end_s)} ago` : f.DASH), {ticks: true})],
      {none: 'Nothing has ended yet.', total: () => null}),
  ];
  const refilter = (wanted) => {
    if (wanted === user) return;
    user = wanted;
    emit('user', user);
    for (const table of tables) table.reset();
  };
  const input = $('#filter-text');
  const mine = $('#filter-mine');
  mine.addEventListener('change', () => {
    input.value = '';
    refilter(mine.checked && model.me ? model.me.user : '');
  });
  input.addEventListener('input', () => {
    if (input.value === '' && !mine.checked) refilter('');
  });
  $('#filter').addEventListener('submit', (event) => {
    event.preventDefault();
    const wanted = input.value.trim().replace(/^#/, '');
    if (/^\d+(_\d+)?$/.test(wanted)) openJob(wanted);
    else if (/^[\w.@-]*$/.test(wanted)) {
      mine.checked = false;
      refilter(wanted);
    } else toast('A user name has letters, digits, and . _ - only.', 'error');
  });
  on('user', (wanted) => { // chosen in the list of users
    if (wanted === user) return;
    mine.checked = Boolean(model.me) && wanted === model.me.user;
    input.value = mine.checked ? '' : wanted;
    refilter(wanted);
  });
  setInterval(() => {
    if (!document.hidden) for (const table of tables) table.tick();
  }, 1000);
  on('cluster', (cluster) => {
    const limits = cluster.forecast && cluster.forecast.basis === 'time_limit' && cluster.counts.pending > 0;
    text($('#queue-note'), limits ? `Expected starts rest on time limits: ${f.plural(cluster.forecast.ended_jobs, 'job')} ${cluster.forecast.ended_jobs === 1 ? 'has' : 'have'} ended so far.` : '');
    show($('#queue-note'), limits);
  });
  on('me', () => { for (const table of tables) if (table.jobs.length) table.render(); });
}
