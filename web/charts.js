// charts: what happened over the last hours, in four small charts with one crosshair. Drawn by Chart.js, whose script is
// loaded before the modules; without it the figures are still shown in words.
import {$, el, text, attr, show} from './dom.js';
import * as f from './format.js';
import {model, on, loads, touch, emit, now, rangeSeconds} from './model.js';
import {get} from './api.js';

let points = [];
let cursor = -1; // index of the point under the crosshair, or -1
const charts = [];

const value = (point, key) => (typeof point[key] === 'number' ? point[key] : null);
const share = (point) => (model.cluster && model.cluster.counts.gpus > 0 && typeof point.busy_gpus === 'number' ? point.busy_gpus / model.cluster.counts.gpus : null);

// series: what is drawn; words(point): the figures beside the title; alternative text is made of the first series.
const KINDS = [
  {id: 'busy', title: 'GPUs busy', max: () => 1, tick: (v) => f.percent(v),
   series: [{of: share, color: '--chart-1', fill: true, name: 'busy'}, {of: (p) => value(p, 'utilization'), color: '--chart-2', name: 'used'}],
   words: (p) => [['busy', f.percent(share(p))], ['used', f.percent(value(p, 'utilization'))]]},
  {id: 'queue', title: 'Jobs', tick: (v) => f.count(v), whole: true,
   series: [{of: (p) => value(p, 'pending'), color: '--chart-3', fill: true, name: 'waiting'}, {of: (p) => value(p, 'running'), color: '--chart-1', name: 'running'}],
   words: (p) => [['waiting', f.count(value(p, 'pending'))], ['running', f.count(value(p, 'running'))]]},
  {id: 'jct', title: 'Mean completion time', tick: (v) => f.span(v), gaps: true, steps: [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400],
   series: [{of: (p) => value(p, 'jct_mean_s'), color: '--chart-4', points: true, name: 'mean'}],
   words: (p, all) => (all ? [['mean', f.duration(meanOf(points))], ['ended', f.count(points.reduce((sum, q) => sum + (q.ended || 0), 0))]]
                           : [['mean', f.duration(value(p, 'jct_mean_s'))], ['ended', f.count(value(p, 'ended'))]])},
  {id: 'power', title: 'Power', tick: (v) => f.power(v),
   series: [{of: (p) => value(p, 'power_w'), color: '--chart-5', fill: true, name: 'power'}],
   none: 'No GPU reports its power.',
   words: (p, all) => [['power', f.power(value(p, 'power_w'))], ...(all ? [['energy', f.energy(energyOf(points))]] : [])]},
];

function energyOf(list) {
  const known = list.filter((p) => typeof p.energy_j === 'number');
  return known.length ? known.reduce((sum, p) => sum + p.energy_j, 0) : null;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const TIME_STEPS = [10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 2 * 86400, 5 * 86400, 10 * 86400, 30 * 86400];

// Ticks on whole minutes, hours and days of the wall clock.
function timeTicks(axis) {
  const span = axis.max - axis.min;
  const step = TIME_STEPS.find((s) => span / s <= 4.5) || span / 4;
  const shift = axis.min > 1e8 ? new Date(axis.min * 1000).getTimezoneOffset() * 60 : 0;
  axis.ticks = [];
  for (let t = Math.ceil((axis.min - shift) / step) * step + shift; t <= axis.max; t += step) axis.ticks.push({value: t, step});
}

function timeLabel(time, index, ticks) {
  const {step} = ticks[index];
  if (step < 86400 || time < 1e8) return f.clock(time, step < 60);
  const date = new Date(time * 1000);
  return `${date.getDate()}.${date.getMonth() + 1}.`;
}

// Ticks on round times, where the axis is one of time.
const roundStep = (steps, max) => steps.find((s) => max / s <= 3) || steps[steps.length - 1];

function roundTicks(axis, steps) {
  const step = roundStep(steps, axis.max);
  axis.ticks = [];
  for (let t = 0; t <= axis.max; t += step) axis.ticks.push({value: t});
}

const AXIS_WIDTH = 56; // the same in all, so that the crosshair is one line

const crosshair = {
  id: 'crosshair',
  afterDraw(chart) {
    if (cursor < 0 || cursor >= points.length) return;
    const x = chart.scales.x.getPixelForValue(points[cursor].time_s);
    const {top, bottom} = chart.chartArea;
    chart.ctx.save();
    chart.ctx.strokeStyle = css('--ink-2');
    chart.ctx.lineWidth = 1;
    chart.ctx.beginPath();
    chart.ctx.moveTo(x, top);
    chart.ctx.lineTo(x, bottom);
    chart.ctx.stroke();
    chart.ctx.restore();
  },
};

function options(kind) {
  return {
    responsive: true, maintainAspectRatio: false, animation: false, parsing: false, normalized: true, events: [],
    layout: {padding: {top: 4, right: 2}},
    plugins: {legend: {display: false}, tooltip: {enabled: false}},
    scales: {
      x: {type: 'linear', afterBuildTicks: timeTicks, grid: {display: false, drawBorder: true},
          ticks: {maxRotation: 0, autoSkip: false, callback: timeLabel}},
      y: {beginAtZero: true, afterFit: (axis) => { axis.width = AXIS_WIDTH; }, afterBuildTicks: (axis) => { if (kind.steps) roundTicks(axis, kind.steps); }, grid: {drawBorder: false, drawTicks: false},
          ticks: {maxTicksLimit: 4, padding: 6, precision: kind.whole ? 0 : undefined, callback: (v) => kind.tick(v)}},
    },
  };
}

function paint(chart, kind) {
  const ink = css('--ink-2');
  const {x, y} = chart.options.scales;
  chart.data.datasets.forEach((set, i) => {
    const color = css(kind.series[i].color);
    set.borderColor = color;
    set.pointBackgroundColor = color;
    set.backgroundColor = `${color}26`;
  });
  for (const axis of [x, y]) {
    axis.ticks.color = ink;
    axis.ticks.font = {family: css('--font'), size: 11};
    axis.grid.color = css('--line');
    axis.grid.borderColor = css('--line');
  }
}

function create(kind) {
  const canvas = el('canvas', {role: 'img', tabindex: '0'});
  const values = el('span', {class: 'chart-values'});
  const none = el('p', {class: 'empty'});
  const figure = el('figure', {class: 'chart', 'data-chart': kind.id}, el('figcaption', {}, el('h3', {}, kind.title), values), el('div', {class: 'canvas'}, canvas), none);
  $('#charts').append(figure);
  const chart = window.Chart ? new window.Chart(canvas, {
    type: 'line',
    data: {datasets: kind.series.map((series) => ({label: series.name, data: [], fill: series.fill ? 'origin' : false, borderWidth: 1.5,
      pointRadius: series.points ? 1.5 : 0, spanGaps: Boolean(kind.gaps), tension: 0}))},
    options: options(kind), plugins: [crosshair],
  }) : null;
  const entry = {kind, canvas, values, none, chart};
  canvas.addEventListener('pointermove', (event) => point(chart, event));
  canvas.addEventListener('pointerleave', () => setCursor(-1));
  canvas.addEventListener('blur', () => setCursor(-1));
  canvas.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30}[event.key];
    if (!step || points.length === 0) return;
    event.preventDefault();
    setCursor(Math.max(0, Math.min(points.length - 1, (cursor < 0 ? points.length - 1 : cursor) + step)));
    text($('#live'), `${f.clock(points[cursor].time_s, false)}: ${kind.words(points[cursor]).map((pair) => pair.join(' ')).join(', ')}`);
  });
  charts.push(entry);
}

function point(chart, event) {
  if (!chart || points.length === 0) return;
  const time = chart.scales.x.getValueForPixel(event.offsetX);
  let best = 0;
  for (let i = 1; i < points.length; i++) if (Math.abs(points[i].time_s - time) < Math.abs(points[best].time_s - time)) best = i;
  setCursor(best);
}

function setCursor(index) {
  if (index === cursor) return;
  cursor = index;
  for (const entry of charts) {
    if (entry.chart) entry.chart.draw();
    renderValues(entry);
  }
}

function renderValues({kind, values}) {
  const at = cursor >= 0 ? points[cursor] : points[points.length - 1];
  const pairs = at ? kind.words(at, cursor < 0) : [];
  const shown = pairs.map(([name, figure], i) => el('span', {'data-series': i < kind.series.length ? kind.series[i].color.slice(2) : null}, `${name} `, el('b', {}, figure)));
  if (cursor >= 0) shown.unshift(el('time', {}, f.clock(at.time_s, false)));
  values.replaceChildren(...shown);
}

// In the service's time; a twin's runs faster, and its points are as much further apart.
const speed = () => (model.cluster && model.cluster.speed) || 1;

// After a restart points are further apart than before, so that more time comes than was asked for.
function latest(answer, some) {
  const all = answer.points;
  return all.length ? all.filter((p) => p.time_s > all[all.length - 1].time_s - rangeSeconds(some)) : all;
}

let drawnSpeed = 1;
function renderRange() {
  if (speed() === drawnSpeed) return;
  drawnSpeed = speed();
  for (const input of document.querySelectorAll('#range input'))
    text(input.nextElementSibling, drawnSpeed === 1 ? `${input.value / 60} h` : f.span(rangeSeconds(Number(input.value))));
  touch('history', 'users');
}

// The mean completion time, and the time that it is of: a twin may have begun later than that.
function emitMean(answer) {
  const list = latest(answer, 60);
  const step = Math.max(answer.step_s || 0, 10 * speed()); // of one point it is not known
  const covered = list.length ? list[list.length - 1].time_s - list[0].time_s + step : 0;
  emit('jct', {mean_s: meanOf(list), over_s: covered > 0 ? Math.min(rangeSeconds(60), covered) : rangeSeconds(60)});
}

function alternative(kind) {
  const numbers = points.map(kind.series[0].of).filter((v) => v !== null);
  if (numbers.length === 0) return `${kind.title}: nothing recorded yet`;
  const mean = numbers.reduce((sum, v) => sum + v, 0) / numbers.length;
  return `${kind.title}, ${kind.series[0].name}, over the last ${f.span(rangeSeconds())}: ${kind.tick(numbers[numbers.length - 1])} now, `
    + `between ${kind.tick(Math.min(...numbers))} and ${kind.tick(Math.max(...numbers))}, ${kind.tick(mean)} on average`;
}

function render() {
  const end = points.length ? points[points.length - 1].time_s : now();
  if (cursor >= points.length) cursor = -1;
  for (const entry of charts) {
    const {kind, chart, canvas, none} = entry;
    const some = points.some((p) => kind.series.some((series) => series.of(p) !== null));
    show(none, !some);
    text(none, points.length > 0 && kind.none ? kind.none : 'Nothing recorded yet.');
    show(canvas.parentElement, some && chart);
    attr(canvas, 'aria-label', alternative(kind));
    renderValues(entry);
    if (!chart || !some) continue;
    kind.series.forEach((series, i) => {
      const data = points.map((p) => ({x: p.time_s, y: series.of(p)}));
      chart.data.datasets[i].data = kind.gaps ? data.filter((p) => p.y !== null) : data;
    });
    chart.options.scales.x.min = end - points[0].time_s < rangeSeconds() / 2 ? points[0].time_s : end - rangeSeconds();
    chart.options.scales.x.max = end;
    chart.options.scales.y.suggestedMax = kind.max ? kind.max() : undefined;
    if (kind.steps) {
      const most = Math.max(1, ...points.map(kind.series[0].of).filter((v) => v !== null));
      const step = roundStep(kind.steps, most);
      chart.options.scales.y.max = Math.ceil(most / step) * step;
    }
    paint(chart, kind);
    chart.update('none');
  }
}

function meanOf(list) {
  let sum = 0;
  let weight = 0;
  for (const p of list) {
    if (typeof p.jct_mean_s !== 'number') continue;
    sum += p.jct_mean_s * Math.max(1, p.ended || 0);
    weight += Math.max(1, p.ended || 0);
  }
  return weight > 0 ? sum / weight : null;
}

export function startCharts() {
  for (const kind of KINDS) create(kind);
  loads('history', async () => {
    const asked = model.minutes;
    const answer = await get(`/v1/history?minutes=${asked}`);
    if (asked !== model.minutes) return;
    points = latest(answer, asked);
    render();
    emitMean(asked === 60 ? answer : await get('/v1/history?minutes=60'));
  });
  $('#range').addEventListener('change', (event) => {
    model.minutes = Number(event.target.value);
    cursor = -1;
    touch('history');
    emit('range');
  });
  on('cluster', renderRange);
  addEventListener('adlro-theme', () => requestAnimationFrame(render));
  setInterval(() => touch('history'), 10000);
}
