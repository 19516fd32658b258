// gpu_history: in the dialog of a GPU, which jobs ran on it, what happened to it, and its readings, over the range of the charts.
import {$, el, text, show, reconcile} from './dom.js';
import * as f from './format.js';
import {model, on} from './model.js';
import {get} from './api.js';
import {openJob} from './job.js';
import {drawSpans, drawReadings, useOf, powerOf, temperatureOf} from './timeline.js';

const SHOWN = 10;
let gpu = null; // number
let history = null; // the last answer
let earlier = []; // runs of further pages
let next = null; // what to ask for them with
let shown = SHOWN; // runs in the list
let loading = false;

const how = (run) => (run.how === 'running' ? 'runs' : f.STATES[run.how] || run.how);

function createRun(run) {
  return el('li', {},
    el('time', {}, f.moment(run.start_s, model.cluster.now_s)),
    run.job === null ? el('span', {}, title(run))
                     : el('span', {}, el('button', {type: 'button', class: 'link', onclick: () => openJob(run.job)}, `#${run.label} ${run.name || ''}`), ` ${run.user}`),
    el('b'), el('small', {}, run.why || ''));
}

function updateRun(node, run, until) {
  text(node.children[2], `${f.duration((run.end_s ?? until) - run.start_s)}, ${how(run)}`);
}

// Where older runs were not asked for, what they were is not drawn as idle.
function beginning(runs) {
  const known = [...history.points.slice(0, 1).map((point) => point.time_s), ...runs.map((run) => run.start_s)];
  const first = next === null ? Math.min(...known) : Math.min(...runs.map((run) => run.start_s));
  return Math.max(history.from_s, Math.min(history.until_s - 60, first));
}

const key = (run) => `${run.start_s} ${run.job}`;
const title = (run) => (run.job === null ? 'another user\'s job' : `#${run.label} ${run.name || ''}, ${run.user}`);

function render() {
  const runs = [...history.runs, ...earlier];
  const until = history.until_s;
  const begin = beginning(runs);
  const busy = runs.reduce((sum, run) => sum + Math.max(0, (run.end_s ?? until) - Math.max(begin, run.start_s)), 0);
  const about = model.gpus.get(gpu);
  text($('#gpu-range'), `The last ${f.span(Math.round((until - begin) / 60) * 60)}`);
  text($('#gpu-busy'), runs.length ? `${f.plural(runs.length, 'run')}, in use ${f.percent(Math.min(1, busy / (until - begin)))} of the time` : 'No job ran on it.');
  drawSpans($('#gpu-bar'), runs.map((run) => ({key: key(run), kind: run.how === 'stopped' ? 'stopped' : 'running', from: run.start_s, until: run.end_s ?? until, title: title(run)})), begin, until);
  drawReadings($('#gpu-readings'), {...history, points: history.points.filter((point) => point.time_s >= begin)}, [useOf, powerOf((about && about.max_w) || 1), temperatureOf], begin, until);
  reconcile($('#gpu-events'), history.events, (event) => `${event.time_s} ${event.kind}`, (event) =>
    el('li', {}, el('time', {}, f.moment(event.time_s, until)), el('b', {}, event.kind.replaceAll('_', ' ')), el('span', {}, event.why)), () => {});
  reconcile($('#gpu-runs'), runs.slice(0, shown), key, createRun, (node, run) => updateRun(node, run, until));
  show($('#gpu-earlier'), next !== null || runs.length > shown);
}

const ask = (before) => get(`/v1/gpus/${gpu}/history?minutes=${model.minutes}&limit=100${before ? `&before=${before}` : ''}`);

async function load() {
  if (gpu === null || loading || !$('#gpu-dialog').open) return;
  const asked = gpu;
  loading = true;
  try {
    const answer = await ask(null);
    if (asked === gpu) {
      history = answer;
      if (!earlier.length) next = answer.next;
      render();
    }
  } catch {
    // The next change requests it again.
  }
  if (asked === gpu) show($('#gpu-history'), history);
  loading = false;
  if (asked !== gpu) load();
}

async function showEarlier() {
  shown += SHOWN;
  if (next !== null && shown > history.runs.length + earlier.length) {
    try {
      const answer = await ask(next);
      earlier.push(...answer.runs);
      next = answer.next;
    } catch {
      // The button is still there.
    }
  }
  if (history) render();
}

export function openGpuHistory(number) {
  gpu = number;
  earlier = [];
  history = next = null;
  shown = SHOWN;
  show($('#gpu-history'), false);
  load();
}

export function startGpuHistory() {
  $('#gpu-earlier').addEventListener('click', showEarlier);
  $('#gpu-dialog').addEventListener('close', () => { gpu = null; });
  on('cluster', () => { if (!earlier.length) load(); });
}
