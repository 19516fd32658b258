// timeline: spans of time as a bar, readings as a line; what a job did from when to when.
import {$, el, text, attr, show, variable, reconcile} from './dom.js';
import * as f from './format.js';
import {model, now} from './model.js';
import {get} from './api.js';

// Spans {key, kind, from, until, title} from one time to another.
export function drawSpans(bar, spans, from, until) {
  const length = Math.max(1, until - from);
  const place = (time) => Math.min(1, Math.max(0, (time - from) / length));
  reconcile(bar, spans, (span) => span.key, () => el('i'), (node, span) => {
    attr(node, 'data-kind', span.kind);
    attr(node, 'title', span.title);
    variable(node, '--from', place(span.from).toFixed(4));
    variable(node, '--wide', (place(span.until) - place(span.from)).toFixed(4));
  });
}

const WIDTH = 240;
const HEIGHT = 40;

// Points are as far apart as the samples, or as the steps if those are longer.
function spacing(points, step) {
  const apart = points.slice(1).map((point, i) => point.time_s - points[i].time_s).sort((a, b) => a - b);
  return Math.max(step, apart[Math.floor(apart.length / 2)] || 0);
}

// One path for each stretch without gaps.
function paths(points, {of, max}, from, until, step) {
  const length = Math.max(1, until - from);
  const gap = 3 * spacing(points, step);
  let path = '';
  let before = -Infinity;
  for (const point of points) {
    const value = of(point);
    if (typeof value !== 'number') continue;
    const x = ((point.time_s - from) / length) * WIDTH;
    const y = HEIGHT - Math.min(1, value / max) * (HEIGHT - 2) - 1;
    path += `${point.time_s - before > gap ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
    before = point.time_s;
  }
  return path;
}

// Readings over time, each kind in a line of its own: {name, of, max, words}. Those that nobody measured are left out.
export function drawReadings(box, answer, kinds, from, until) {
  const known = kinds.filter(({of}) => answer.points.some((point) => typeof of(point) === 'number'));
  reconcile(box, known, ({name}) => name, createLine, (node, kind) => {
    const values = answer.points.map(kind.of).filter((value) => typeof value === 'number');
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    text($('b', node), kind.words(values[values.length - 1]));
    text($('small', node), `mean ${kind.words(mean)}, most ${kind.words(Math.max(...values))}`);
    $('path', node).setAttribute('d', paths(answer.points, kind, from, until, answer.step_s));
  });
  show(box, known.length > 0);
}

function createLine({name, color}) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('data-color', color);
  svg.append(path);
  return el('li', {}, el('span', {}, name), el('b'), el('small'), svg);
}

export const useOf = {name: 'Use', color: '1', of: (point) => point.utilization, max: 1, words: f.percent};
export const powerOf = (most) => ({name: 'Power', color: '5', of: (point) => point.power_w, max: Math.max(1, most), words: f.power});
export const temperatureOf = {name: 'Temperature', color: '4', of: (point) => point.temperature_c, max: 100, words: (value) => `${f.count(value)} °C`};

// --- one job ---

const SHOWN = 8;
let all = null; // the job of which all phases are shown

const WORDS = {waiting: 'waited', held: 'held', placed: 'placed', running: 'ran', idle: 'idle', stopping: 'stopping'};
const NOW = {waiting: 'waits', held: 'is held', placed: 'is placed', running: 'runs', idle: 'is idle', stopping: 'is being stopped'};

const name = (phase) => (phase.phase === 'ended' ? f.STATES[phase.state] || 'ended' : phase.until_s === null ? NOW[phase.phase] : WORDS[phase.phase]);
const length = (phase) => (phase.until_s ?? now()) - phase.from_s;

// A job that moves waits for an instant in between, which says nothing.
const counts = (phase) => phase.phase !== 'waiting' || phase.why || phase.until_s === null || length(phase) >= ((model.cluster && model.cluster.speed) || 1);

function createPhase() {
  return el('li', {}, el('time'), el('b'), el('span'), el('small'));
}

function updatePhase(node, phase) {
  const [time, what, why, where] = node.children;
  text(time, f.moment(phase.from_s, now()));
  text(what, phase.phase === 'ended' || length(phase) < 0.05 ? name(phase) : `${name(phase)} ${f.duration(length(phase))}`);
  text(where, phase.gpus ? `on ${f.places(phase.gpus)}` : '');
  text(why, phase.why || '');
  attr(node, 'data-kind', phase.phase);
}

function renderPhases(timeline) {
  const phases = timeline.phases.filter(counts);
  const shown = all === timeline.job ? phases : phases.slice(-SHOWN);
  const hidden = phases.length - shown.length;
  const key = (phase) => `${phase.from_s} ${phase.phase}`;
  const from = timeline.phases[0].from_s;
  const last = timeline.phases[timeline.phases.length - 1];
  const until = last.until_s ?? now();
  drawSpans($('#job-bar'), timeline.phases.filter((phase) => phase.phase !== 'ended').map((phase) =>
    ({key: key(phase), kind: phase.phase, from: phase.from_s, until: phase.until_s ?? now(), title: `${name(phase)} ${f.duration(length(phase))}`})), from, until);
  attr($('#job-bar'), 'aria-label', phases.map((phase) => `${name(phase)} ${phase.phase === 'ended' ? '' : f.duration(length(phase))}`).join(', '));
  reconcile($('#job-phases'), shown, key, createPhase, updatePhase);
  show($('#job-more'), hidden > 0 || timeline.left_out > 0);
  text($('#job-more span'), timeline.left_out > 0 ? `${f.plural(timeline.left_out, 'earlier phase')} left out.` : '');
  show($('#job-more button'), hidden > 0);
  text($('#job-more button'), `Show ${f.plural(hidden, 'earlier phase')}`);
  $('#job-more button').onclick = () => {
    all = timeline.job;
    renderPhases(timeline);
  };
}

export async function loadTimeline(job, isOpen) {
  let timeline = null;
  try {
    timeline = await get(`/v1/jobs/${job.id}/timeline`);
  } catch {
    // The next change requests it again.
  }
  if (!isOpen(job.id)) return;
  show($('#job-timeline'), timeline);
  if (!timeline) return;
  renderPhases(timeline);
  const {points} = timeline;
  const from = points.length ? points[0].time_s : 0;
  const until = points.length ? Math.max(points[points.length - 1].time_s, from + 1) : 1;
  drawReadings($('#job-readings'), timeline, [useOf, powerOf(Math.max(0, ...points.map((point) => point.power_w ?? 0)))], from, until);
}
