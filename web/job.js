// job: one job in a dialog: what it is, what happened to it and why, and what may be done with it.
import {$, el, text, show, reconcile, openDialog, toast} from './dom.js';
import * as f from './format.js';
import {model, on, touch, now} from './model.js';
import {get, call} from './api.js';
import {setSign, renderFacts} from './gpus.js';
import {openSubmit} from './submit.js';
import {loadBlockers} from './blockers.js';
import {openWhatif, renderWhatif, startWhatif} from './whatif.js';
import {loadTimeline} from './timeline.js';

let open = null; // id
let job = null;
let loading = false;
let stale = false; // it changed while it was being loaded

export const mayChange = (other) => Boolean(model.me) && (model.me.admin || model.me.user === other.user);

// name: its number, or its label: 12_3.
export async function openJob(name) {
  try {
    job = await get(`/v1/jobs/${name}`);
    open = job.id;
  } catch (problem) {
    toast(problem.full || problem.message, 'error');
    return;
  }
  for (const dialog of document.querySelectorAll('dialog[open]')) if (dialog.id !== 'job-dialog') dialog.close();
  $('#job-actions').dataset.for = '';
  $('#job-events').replaceChildren();
  $('#job-events').knownChildren = null;
  $('#job-blockers').replaceChildren();
  show($('#job-timeline'), false);
  openWhatif(job);
  renderJob();
  openDialog($('#job-dialog'));
  $('#job-dialog .body').scrollTop = 0;
  loadEvents();
  loadTimeline(job, isOpen);
  loadBlockers(job, isOpen);
}

const isOpen = (id) => id === open;

async function reload() {
  stale = loading;
  if (loading || open === null || !$('#job-dialog').open) return;
  loading = true;
  try {
    const fresh = await get(`/v1/jobs/${open}`);
    if (fresh.id === open) {
      job = fresh;
      renderJob();
      await Promise.all([loadEvents(), loadTimeline(job, isOpen), loadBlockers(job, isOpen)]);
    }
  } catch {
    // The next change requests it again.
  }
  loading = false;
  if (stale) reload();
}

// --- what it is ---

function result(j) {
  if (typeof j.signal === 'number' && j.signal > 0) return `ended by signal ${j.signal}`;
  return typeof j.exit_code === 'number' ? `exit code ${j.exit_code}` : null;
}

const AFTER = {afterok: ' if it completes', afternotok: ' if it does not complete', after: ' once it has started'};

// "14:20, by 16:05 in 9 of 10 cases"
export function expected(p50, p90, basis) {
  if (typeof p50 !== 'number') return null;
  if (basis === 'time_limit') return `${f.soon(p50, now())}, by time limits`;
  return typeof p90 === 'number' ? `${f.soon(p50, now())}, by ${f.soon(p90, now())} in 9 of 10 cases` : f.soon(p50, now());
}

function facts(j) {
  const nodes = [...new Set((j.allocation || []).map((gpu) => gpu.node))];
  const places = nodes.map((node) => `${node}: ${f.allocation(j.allocation.filter((gpu) => gpu.node === node))}`).join('; ');
  const at = (time) => (typeof time === 'number' ? f.moment(time, now()) : null);
  const run = j.state === 'R' && typeof j.start_s === 'number' ? now() - j.start_s : j.run_s;
  return [
    ['User', j.user], ['Requested', f.request(j)], [j.state === 'R' ? 'Runs on' : 'Ran on', places || null],
    ['Submitted', at(j.submit_s)], ['Started', at(j.start_s)], ['Ended', at(j.end_s)],
    ['Starts', expected(j.start_p50, j.start_p90, j.start_basis)], ['Ends', expected(j.end_p50, j.end_p90, j.end_basis)],
    ['As of', at(j.forecast_at)],
    ['Ran', j.start_s ? f.duration(run) : null], ['Time limit', f.span(j.time_limit_s)],
    ['Result', result(j)], ['Energy', j.energy_j > 0 ? f.energy(j.energy_j) : null],
    ['Idle', j.idle_gpu_hours > 0 ? `${f.hours(j.idle_gpu_hours)} GPU hours held and not used` : null], ['Stopped at', at(j.idle_stop_s)],
    ['Priority', String(Math.round(j.priority * 1000) / 1000)], ['Kind', j.class ? `${j.kind}, ${j.class}` : j.kind],
    ['Deadline', at(j.deadline_s)], ['Attempts', j.attempts > 1 ? f.count(j.attempts) : null],
    ['After', [...(j.after || []).map((other) => `#${other.job}${AFTER[other.kind] || ''}`), j.singleton && 'all earlier jobs of its name']
      .filter(Boolean).join(j.dependency_any ? ' or ' : ', ') || null],
    ['Not before', at(j.begin_s)], ['Signal', j.warn_signal], ['At once', j.array_limit ? `${f.count(j.array_limit)} of its array` : null],
    ['Number', j.array_id && j.id < 2 ** 32 ? String(j.id) : null], // that of a task of Slurm's tells people nothing
    ['May', [j.share && 'share its GPU', j.requeue && STOPS[j.stop_loses]].filter(Boolean).join(', ') || null],
    ['Directory', j.directory], ['Output', j.stdout], ['Errors', j.stderr && j.stderr !== j.stdout ? j.stderr : null],
  ].filter(([, value]) => value);
}

function renderJob() {
  text($('#job-title'), `#${job.label} ${job.name || ''}`);
  setSign($('#job-state'), job.state, job.stage === 'stopping' ? 'stopping' : f.STATES[job.state] || job.state);
  text($('#job-reason'), job.reason);
  show($('#job-reason'), job.reason);
  text($('#job-command'), job.command);
  show($('#job-command'), job.command);
  renderFacts($('#job-facts'), facts(job));
  renderWhatif(job);
  renderActions();
}

// --- what happened ---

async function loadEvents() {
  try {
    const asked = open;
    const {events, next} = await get(`/v1/jobs/${asked}/events`);
    if (asked !== open) return;
    reconcile($('#job-events'), events, (event) => event.sequence, createEvent, () => {});
    show($('#job-log'), events.length > 0);
    text($('#job-log summary'), `All ${f.plural(events.length, 'event')}${next === null ? '' : ' and more'}`);
  } catch {
    show($('#job-log'), false);
  }
}

const SENTENCES = ['why', 'reason', 'text', 'message'];

// Known members first as a sentence, then whatever else the event holds.
function createEvent(event) {
  const data = event.data && typeof event.data === 'object' ? event.data : {};
  const sentence = SENTENCES.map((key) => data[key]).find((value) => typeof value === 'string' && value);
  const rest = Object.entries(data)
    .filter(([key, value]) => !SENTENCES.includes(key) && !['job', 'label', 'id', 'what', 'time_s'].includes(key) && !(key === 'signal' && value === 0) && ['string', 'number', 'boolean'].includes(typeof value) && value !== '')
    .slice(0, 6)
    .map(([key, value]) => (key === 'state' ? f.STATES[value] || value : `${key.replace(/_(s|us)$/, '').replaceAll('_', ' ')} ${value}`.slice(0, 120)));
  return el('li', {},
    el('time', {}, f.moment(event.time_s, now())), el('b', {}, event.kind),
    el('span', {}, sentence || rest.join(', ')), sentence && rest.length && event.kind !== 'submit' ? el('small', {}, rest.join(', ')) : null);
}

// --- what may be done ---

function actions(j) {
  if (!mayChange(j)) return [];
  const list = [];
  if (j.state === 'PD') list.push(j.hold ? 'release' : 'hold');
  if (j.state === 'R' && j.requeue && j.stage !== 'stopping') list.push('requeue');
  if (j.stage === 'ended') list.push('rerun');
  if ((j.state === 'PD' || j.state === 'R') && j.stage !== 'stopping') list.push('cancel');
  if (j.command) list.push('again');
  return list;
}

const STOPS = {nothing: 'be stopped, and saves its work then', since_checkpoint: 'be stopped, and goes on from its last checkpoint', all: 'be stopped and run again from its beginning'};
const LABELS = {hold: 'Hold', release: 'Release', requeue: 'Stop and queue again', rerun: 'Queue again', cancel: 'Cancel job', again: 'Submit again…'};

async function act(action, button) {
  button.disabled = true;
  try {
    const path = `/v1/jobs/${job.id}`;
    job = action === 'cancel' ? await call('DELETE', `${path}?reason=${encodeURIComponent('cancelled from the dashboard')}`)
                              : await call('POST', `${path}/${action === 'rerun' ? 'requeue' : action}`);
    touch('queue', 'running', 'ended', 'cluster');
    renderJob();
    reload(); // what happened since may be known already
  } catch (problem) {
    toast(problem.full || problem.message, 'error');
    button.disabled = false;
  }
}

function renderActions() {
  const box = $('#job-actions');
  const wanted = actions(job);
  const key = `${job.id} ${wanted.join(' ')}`;
  if (box.dataset.for === key) return;
  const focused = box.contains(document.activeElement);
  box.dataset.for = key;
  box.replaceChildren(...wanted.map((action) => {
    const button = el('button', {type: 'button', 'data-action': action, class: action === 'cancel' ? 'danger' : ''}, LABELS[action]);
    button.addEventListener('click', () => {
      if (action === 'again') openSubmit(job);
      else if (action === 'cancel' && button.dataset.sure === undefined) {
        button.dataset.sure = '';
        text(button, job.state === 'R' ? 'Stop it and lose its work?' : 'Really cancel?');
      } else act(action, button);
    });
    button.addEventListener('blur', () => {
      if (button.dataset.sure === undefined) return;
      delete button.dataset.sure;
      text(button, LABELS[action]);
    });
    return button;
  }));
  show(box, wanted.length > 0);
  if (focused) $('#job-dialog [data-close]').focus();
}

export function startJob() {
  startWhatif();
  on('job', (data) => {
    if (data && data.id === open) reload();
  });
  on('forecast', () => {
    if (job && job.state === 'PD') reload();
  });
  on('connection', (state) => {
    if (state === 'live') reload();
  });
  setInterval(() => {
    if (job && job.state === 'R' && $('#job-dialog').open) renderFacts($('#job-facts'), facts(job));
  }, 1000);
}
