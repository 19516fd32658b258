// gpus: the map of nodes and GPUs. One GPU is a card, a chip or a cell, by how many there are and how wide the page is;
// the colour shows the type, the form the state.
import {$, el, icon, text, attr, variable, show, reconcile, openDialog, toast} from './dom.js';
import * as f from './format.js';
import {model, on, touch, now} from './model.js';
import {call} from './api.js';
import {openJob} from './job.js';
import {openGpuHistory} from './gpu_history.js';

const HUES = 8;
const typeHue = new Map();
const drawn = new Map(); // GPU -> its element

export const STATE_WORDS = {
  busy: 'a job of the queue runs on it',
  idle: 'free',
  draining: 'takes no more jobs, those on it run on',
  drained: 'takes no jobs: an administrator asked for it',
  occupied: 'processes from outside the queue are on it',
  lost: 'its driver says it is gone, or it failed',
};

export const sign = (state) => {
  const svg = icon('x');
  svg.firstElementChild.setAttribute('href', `#s-${state}`);
  svg.setAttribute('class', `sign sign-${state}`);
  return svg;
};

export function setSign(node, state, words) {
  if (node.dataset.state === state && node.dataset.words === words) return;
  node.dataset.state = state;
  node.dataset.words = words;
  node.replaceChildren(sign(state), el('span', {}, words));
}

export const allTypes = () => [...typeHue.keys()];
export const hueOf = (type) => typeHue.get(type) ?? 0;

function assignHues(cluster) {
  for (const node of cluster.nodes)
    for (const gpu of node.gpus) if (!typeHue.has(gpu.type)) typeHue.set(gpu.type, typeHue.size % HUES);
}

function density(count) {
  const narrow = innerWidth < 640;
  if (count <= (narrow ? 4 : 24)) return 'cards';
  return count <= (narrow ? 48 : 96) ? 'chips' : 'cells';
}

const people = (gpu) => gpu.jobs.map((job) => `${job.name || `job ${job.label}`} (${job.user})`).join(', ');
const quiet = (gpu) => [gpu.utilization, gpu.temperature_c, gpu.power_w].every((value) => value === null || value === undefined);

// All of a GPU in one line: for the line below the map and for screen readers.
function sentence(gpu) {
  const parts = [`${gpu.nodeName} ${gpu.index}`, gpu.type, gpu.state];
  if (gpu.jobs.length) parts.push(people(gpu));
  if (gpu.reason) parts.push(gpu.reason);
  if (gpu.health && !(gpu.reason || '').includes('below its type')) parts.push(gpu.health);
  if (typeof gpu.utilization === 'number') parts.push(`${f.percent(gpu.utilization)} used`);
  if (typeof gpu.temperature_c === 'number') parts.push(`${f.count(gpu.temperature_c)} °C`);
  if (typeof gpu.power_w === 'number') parts.push(`${f.count(gpu.power_w)} of ${f.power(gpu.max_w)}`);
  return parts.join(' · ');
}

// How far a GPU is below its type; a finding that is not confirmed changes no speed.
const slowness = (gpu) => (!gpu.health ? '' : gpu.speed < 0.995 ? `−${f.percent(1 - gpu.speed)}` : 'slow?');

function createGpu(gpu) {
  const node = el('button', {type: 'button', class: 'gpu', tabindex: '-1', 'data-gpu': gpu.gpu},
    el('span', {class: 'gpu-head'},
      el('span', {class: 'gpu-type'}), el('span', {class: 'gpu-index'}), el('span', {class: 'gpu-slow'}), el('span', {class: 'gpu-state state'})),
    el('span', {class: 'gpu-who'}, el('b'), el('span')),
    el('span', {class: 'gpu-use'}, el('i'), el('span')),
    el('span', {class: 'gpu-more'}, el('span'), el('span'), el('span')));
  node.parts = {
    type: $('.gpu-type', node), index: $('.gpu-index', node), slow: $('.gpu-slow', node), state: $('.gpu-state', node), name: $('.gpu-who b', node),
    user: $('.gpu-who span', node), use: $('.gpu-use', node), bar: $('.gpu-use i', node), used: $('.gpu-use span', node),
    more: $('.gpu-more', node),
  };
  drawn.set(gpu.gpu, node);
  return node;
}

function updateGpu(node, gpu) {
  const p = node.parts;
  const seen = `${gpu.type} ${gpu.index} ${gpu.state} ${gpu.reason} ${gpu.health} ${gpu.speed} ${gpu.jobs.map((job) => `${job.id} ${job.name} ${job.user}`)}`;
  if (node.seen === seen) {
    updateMeters(node, gpu);
    return;
  }
  node.seen = seen;
  attr(node, 'data-state', gpu.state);
  attr(node, 'data-hue', hueOf(gpu.type));
  text(p.type, gpu.type);
  text(p.index, gpu.index);
  attr(node, 'data-slow', Boolean(gpu.health));
  text(p.slow, slowness(gpu));
  setSign(p.state, gpu.state, gpu.state);
  const first = gpu.jobs[0];
  text(p.name, first ? first.name || `job ${first.label}` : gpu.state === 'busy' ? 'in use' : '');
  if (!first) text(p.user, gpu.reason || '');
  else text(p.user, gpu.jobs.length > 1 ? `${first.user} +${gpu.jobs.length - 1}` : first.user);
  updateMeters(node, gpu);
}

function updateMeters(node, gpu) {
  const p = node.parts;
  const seen = `${node.seen} ${gpu.utilization} ${gpu.temperature_c} ${gpu.power_w} ${gpu.memory_used_mib} ${gpu.cap_w}`;
  if (node.metered === seen) return;
  node.metered = seen;
  const silent = quiet(gpu);
  show(p.use, !silent);
  if (!silent) {
    variable(p.bar, '--part', String(Math.min(1, gpu.utilization ?? 0)));
    text(p.used, f.percent(gpu.utilization));
  }
  // Without telemetry a busy GPU is drawn full: it is allocated.
  variable(node, '--level', gpu.state === 'busy' || gpu.state === 'draining' ? String(silent ? 1 : Math.max(0.12, gpu.utilization ?? 1)) : '0');
  const words = more(gpu, silent);
  [...p.more.children].forEach((child, i) => text(child, words[i] || ''));
  attr(node, 'data-hot', typeof gpu.temperature_c === 'number' && gpu.temperature_c >= 85);
  attr(node, 'aria-label', sentence(gpu));
}

function more(gpu, silent) {
  if (silent) return [gpu.vendor === 'virtual' && model.cluster.engine !== 'sim' ? `virtual, ${f.memory(gpu.memory_mib)}` : f.memory(gpu.memory_mib)];
  const parts = [];
  if (typeof gpu.temperature_c === 'number') parts.push(`${f.count(gpu.temperature_c)} °C`);
  if (typeof gpu.power_w === 'number') parts.push(gpu.max_w ? `${f.count(gpu.power_w)}/${f.count(gpu.cap_w || gpu.max_w)} W` : f.power(gpu.power_w));
  if (typeof gpu.memory_used_mib === 'number') parts.push(`${(gpu.memory_used_mib / 1024).toFixed(0)}/${(gpu.memory_mib / 1024).toFixed(0)} GiB`);
  return parts;
}

function createNode(node) {
  return el('section', {class: 'node', 'aria-label': `Node ${node.name}`},
    el('h3', {class: 'node-head'}, el('b', {}, node.name), el('span')), el('div', {class: 'cells'}));
}

function updateNode(section, node) {
  const free = typeof node.free_cores === 'number'
    ? `${f.count(node.free_cores)} of ${f.plural(node.cpu_cores, 'core')} and ${f.memory(node.free_memory_mib)} free` : '';
  text($('.node-head span', section), free);
  variable(section, '--gpus', String(Math.min(node.gpus.length, 8)));
  for (const gpu of node.gpus) gpu.nodeName = node.name;
  reconcile($('.cells', section), node.gpus, (gpu) => gpu.gpu, createGpu, updateGpu);
}

function renderLegend(cluster) {
  const types = new Map();
  for (const node of cluster.nodes)
    for (const gpu of node.gpus) {
      const entry = types.get(gpu.type) || {type: gpu.type, all: 0, busy: 0};
      entry.all += 1;
      entry.busy += gpu.jobs.length > 0 || gpu.state === 'busy' ? 1 : 0;
      types.set(gpu.type, entry);
    }
  reconcile($('#legend'), [...types.values()], (entry) => entry.type,
    (entry) => el('li', {'data-hue': hueOf(entry.type)}, el('i', {'aria-hidden': 'true'}), el('span', {}, entry.type), el('b')),
    (node, entry) => {
      text(node.lastChild, `${f.count(entry.busy)}/${f.count(entry.all)}`);
      attr(node, 'title', `${f.count(entry.busy)} of ${f.count(entry.all)} in use`);
    });
}

export function renderMap() {
  const {cluster} = model;
  if (!cluster) return;
  const map = $('#map');
  const count = model.gpus.size;
  assignHues(cluster);
  attr(map, 'data-density', density(count));
  attr(map, 'data-few', count <= 3);
  reconcile(map, cluster.nodes, (node) => node.name, createNode, updateNode);
  renderLegend(cluster);
  if (!$('.gpu[tabindex="0"]', map)) attr($('.gpu', map) || map, 'tabindex', '0');
  if (openGpu !== null && $('#gpu-dialog').open) renderGpu();
}

function renderSample(data) {
  for (const {gpu: number} of data.gpus || []) {
    const gpu = model.gpus.get(number);
    const node = drawn.get(number);
    if (gpu && node) updateMeters(node, gpu);
  }
  if (openGpu !== null && $('#gpu-dialog').open) renderGpu();
}

// --- keyboard navigation: one stop for Tab, arrows within ---

function neighbour(from, key) {
  const all = [...document.querySelectorAll('#map .gpu')];
  const at = all.indexOf(from);
  if (key === 'ArrowRight') return all[at + 1];
  if (key === 'ArrowLeft') return all[at - 1];
  if (key === 'Home') return all[0];
  if (key === 'End') return all[all.length - 1];
  const here = from.getBoundingClientRect();
  const down = key === 'ArrowDown';
  let best = null;
  let bestScore = Infinity;
  for (const other of all) {
    const there = other.getBoundingClientRect();
    const dy = down ? there.top - here.top : here.top - there.top;
    if (dy < here.height / 2) continue;
    const score = dy * 4 + Math.abs(there.left - here.left);
    if (score < bestScore) [best, bestScore] = [other, score];
  }
  return best;
}

function listen(map) {
  const look = (event) => {
    const node = event.target.closest?.('.gpu');
    text($('#inspect'), node ? sentence(model.gpus.get(Number(node.dataset.gpu))) : '');
  };
  map.addEventListener('pointerover', look);
  map.addEventListener('focusin', (event) => {
    look(event);
    if (!event.target.matches('.gpu')) return;
    for (const other of map.querySelectorAll('.gpu[tabindex="0"]')) attr(other, 'tabindex', '-1');
    attr(event.target, 'tabindex', '0');
  });
  map.addEventListener('keydown', (event) => {
    if (!/^(Arrow|Home|End)/.test(event.key) || !event.target.matches('.gpu')) return;
    const next = neighbour(event.target, event.key);
    event.preventDefault();
    if (next) next.focus();
  });
  map.addEventListener('click', (event) => {
    const node = event.target.closest('.gpu');
    if (node) showGpu(Number(node.dataset.gpu));
  });
}

// --- one GPU ---

let openGpu = null;

function showGpu(number) {
  openGpu = number;
  $('#gpu-actions').replaceChildren();
  $('#gpu-actions').dataset.for = '';
  renderGpu();
  openDialog($('#gpu-dialog'));
  $('#gpu-dialog .body').scrollTop = 0;
  openGpuHistory(number);
}

function facts(gpu) {
  return [
    ['Model', gpu.model], ['Id', gpu.id], ['Speed', gpu.health],
    ['Used', typeof gpu.utilization === 'number' ? f.percent(gpu.utilization) : null],
    ['Temperature', typeof gpu.temperature_c === 'number' ? `${f.count(gpu.temperature_c)} °C` : null],
    ['Power', typeof gpu.power_w === 'number' ? `${f.power(gpu.power_w)} of at most ${f.power(gpu.max_w)}` : null],
    ['Cap', typeof gpu.cap_w === 'number' ? f.power(gpu.cap_w) : null],
    ['Memory', typeof gpu.memory_used_mib === 'number' ? `${f.memory(gpu.memory_used_mib)} of ${f.memory(gpu.memory_mib)}` : f.memory(gpu.memory_mib)],
    ['Measured', typeof gpu.sample_s === 'number' ? `${f.duration(now() - gpu.sample_s)} ago` : 'never: no telemetry for it'],
  ].filter(([, value]) => value);
}

export function renderFacts(list, rows) {
  reconcile(list, rows, ([name]) => name, ([name]) => el('div', {}, el('dt', {}, name), el('dd')),
    (node, [, value]) => text(node.lastChild, value));
}

function renderGpu() {
  const gpu = model.gpus.get(openGpu);
  if (!gpu) return;
  text($('#gpu-title'), `${gpu.nodeName} / ${gpu.index}: ${gpu.type}`);
  setSign($('#gpu-state'), gpu.state, gpu.state);
  text($('#gpu-reason'), gpu.reason || STATE_WORDS[gpu.state] || '');
  renderFacts($('#gpu-facts'), facts(gpu));
  reconcile($('#gpu-jobs'), gpu.jobs, (job) => job.id,
    (job) => el('li', {}, el('button', {type: 'button', class: 'link', onclick: () => openJob(job.id)}, `#${job.label} ${job.name || ''}`), ` ${job.user}`),
    () => {});
  renderGpuActions(gpu);
}

function renderGpuActions(gpu) {
  const box = $('#gpu-actions');
  const drained = gpu.state === 'draining' || gpu.state === 'drained';
  const wanted = !model.me || !model.me.admin ? 'none' : drained ? 'resume' : 'drain';
  if (box.dataset.for === `${gpu.gpu} ${wanted}`) return;
  box.dataset.for = `${gpu.gpu} ${wanted}`;
  box.replaceChildren();
  const act = (path, body) => async () => {
    try {
      await call('POST', path, body());
      touch('cluster');
    } catch (problem) {
      toast(problem.full || problem.message, 'error');
    }
  };
  if (wanted === 'resume')
    box.append(el('button', {type: 'button', onclick: act(`/v1/gpus/${gpu.gpu}/resume`, () => undefined)}, 'Take it back into service'));
  if (wanted === 'drain') {
    const reason = el('input', {'aria-label': 'Why it is drained', placeholder: 'Reason, shown to users', maxlength: '180'});
    box.append(reason, el('button', {type: 'button', onclick: act(`/v1/gpus/${gpu.gpu}/drain`, () => ({reason: reason.value.trim() || 'drained from the dashboard'}))}, 'Drain'));
  }
}

// --- GPUs and types that are not as fast as they were ---

function predictionWords({predictions, policy}) {
  const decides = policy.fallen_back ? `; policy ${policy.in_force} decides in place of ${policy.configured}` : '';
  return `${predictions.text}${decides}. To tune again: ${predictions.proposal}`;
}

// Nothing is measured on a GPU without jobs, so that an administrator has to try it.
function drainWords({gpu, state, drained, drained_s}) {
  if (typeof drained_s !== 'number') return '';
  const since = `; ${drained ? 'adlro drained it' : 'drained'} at ${f.moment(drained_s, now())}`;
  return state === 'drained' ? `${since}, so nothing is measured on it. To try it again: adlro drain ${gpu} --resume, or take it back into service in its dialog` : since;
}

function renderHealth(health) {
  const rows = [...health.types, ...health.gpus];
  const words = [];
  const predictions = health.predictions.alarm ? [{id: 'predictions', text: predictionWords(health)}] : [];
  rows.unshift(...predictions);
  if (predictions.length) words.push('Predictions do not hold');
  if (health.gpus.length) words.push(`${f.plural(health.gpus.length, 'GPU')} below ${health.gpus.length > 1 ? 'their' : 'its'} type`);
  if (health.types.length) words.push(`${f.plural(health.types.length, 'GPU type')} changed`);
  show($('#health'), rows.length > 0);
  text($('#health summary'), words.join(', '));
  reconcile($('#health ul'), rows, (row) => row.id || row.type, () => el('li'),
    (node, row) => text(node, row.text + drainWords(row)));
}

export function startGpus() {
  on('health', renderHealth);
  listen($('#map'));
  on('cluster', renderMap);
  on('sample', renderSample);
  let resizing = 0;
  addEventListener('resize', () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(renderMap);
  });
}
