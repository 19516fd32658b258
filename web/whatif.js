// whatif: when a waiting job would start if it asked for other GPUs, or if there were more nodes.
import {$, el, text, attr, show, setBand} from './dom.js';
import * as f from './format.js';
import {model} from './model.js';
import {post} from './api.js';

let job = null;
let busy = 0; // number of the question whose answer is awaited, 0 = none
let asked = 0;

const clusterTypes = () => [...new Set([...model.gpus.values()].map((gpu) => gpu.type))];
// Those that it accepts: "v100:2|a100:1" names them, a number accepts all.
function ownTypes(j) {
  const parts = String(j.request || '').split('|').map((part) => /^([A-Za-z][^:]*)(:\d+)?$/.exec(part));
  if (parts.every(Boolean)) return parts.map((part) => part[1]);
  return j.types && j.types.length ? j.types : clusterTypes();
}
const chosenTypes = () => [...document.querySelectorAll('#w-types input:checked')].map((box) => box.value);

// "a100:8" for each kind of node whose GPUs are of one type.
function shapes() {
  const found = new Set();
  for (const node of model.cluster ? model.cluster.nodes : []) {
    const types = new Set(node.gpus.map((gpu) => gpu.type));
    for (const type of types) found.add(`${type}:${node.gpus.filter((gpu) => gpu.type === type).length}`);
  }
  return [...found];
}

// What differs from the job as it is; nothing at all asks the service what would help.
function question() {
  const own = ownTypes(job);
  const types = chosenTypes();
  const added = types.filter((type) => !own.includes(type));
  const gpus = Number($('#w-gpus').value);
  const nodes = Number($('#w-nodes').value);
  const asks = {job: job.id};
  if (own.every((type) => types.includes(type))) {
    if (added.length) asks.types = `+${added.join('|')}`;
  } else asks.types = types.join('|');
  if (gpus !== job.gpus) asks.gpus = gpus;
  if (nodes > 0) asks.add_nodes = `${nodes}x${$('#w-shape').value}`;
  return asks;
}

function renderForm() {
  const nodes = Number($('#w-nodes').value);
  const changed = Object.keys(question()).length > 1;
  text($('#w-gpus-value'), $('#w-gpus').value);
  text($('#w-nodes-value'), nodes > 0 ? `${nodes} × ${$('#w-shape').value}` : 'none');
  text($('#whatif-ask'), changed ? 'Ask' : 'What would help?');
  attr($('#whatif-ask'), 'disabled', busy > 0 || chosenTypes().length === 0);
}

// --- the answer ---

// "at 14:20 (14:05 to 15:30)"
function odds(answer, {p10, p50, p90}) {
  const at = (seconds) => f.soon(answer.time_s + seconds, answer.time_s);
  if (p90 < 0.5) return 'at once';
  return at(p10) === at(p90) ? `at ${at(p50)}` : `at ${at(p50)} (${at(p10)} to ${at(p90)})`;
}

function asItIs(answer) {
  const now = answer.as_it_is;
  if (!now) return '';
  if (now.never_starts >= 0.5) return `As it is, it does not start within ${f.span(answer.played_s)}.`;
  return `As it is, it ${answer.runs ? 'runs' : `starts ${odds(answer, now.start_in_s)}`} and ends ${odds(answer, now.end_in_s)}.`;
}

function advice(answer) {
  if (!answer.advice) return '';
  return answer.cheapest ? `The cheapest change that starts it sooner and ends it no later: ${answer.cheapest}.` : 'No single change of its request starts it sooner and ends it no later.';
}

function alternative(one, reach) {
  const band = el('span', {class: 'score-band', 'aria-hidden': 'true', title: 'Start: sooner to the left, later to the right'}, el('i'));
  const start = one.possible ? one.start_s : null;
  setBand(band, start ? start.lo : null, start ? start.hi : null, reach);
  return el('li', {'data-possible': String(one.possible), 'data-helps': one.helps ? '' : null}, el('p', {}, `${one.text[0].toUpperCase()}${one.text.slice(1)}.`), band);
}

function renderAnswer(answer) {
  const bounds = answer.alternatives.filter((one) => one.start_s).flatMap((one) => [one.start_s.lo, one.start_s.hi]);
  const reach = Math.max(60, ...bounds.map(Math.abs));
  say('', '');
  $('#whatif-answer').replaceChildren(...[
    el('p', {}, asItIs(answer)),
    el('ul', {class: 'alternatives'}, ...answer.alternatives.map((one) => alternative(one, reach))),
    el('p', {}, advice(answer)),
    el('p', {class: 'note'}, answer.basis === 'time_limit' ? 'Run times are drawn from time limits: too few jobs have ended to learn from.' : ''),
    el('p', {class: 'note'}, `${f.plural(answer.futures, 'future')} under ${answer.policy}, played for ${f.span(answer.played_s)}. Times from now are medians, in brackets what eight of ten futures lie within; differences are means, in brackets what nine of ten pairs of futures lie within. Bars show by how much the start moves: sooner to the left.`),
  ].filter((node) => node.textContent));
}

function say(words, kind) {
  text($('#whatif-note'), words);
  attr($('#whatif-note'), 'data-kind', kind || null);
}

// The service answers a few questions at a time, and says when to try again.
function inWords(problem) {
  if (problem.status !== 503) return problem.full || problem.message;
  const wait = problem.retry_s > 0 ? `in ${f.plural(problem.retry_s, 'second')}` : 'in a moment';
  return `The service is busy: ${problem.message.replace(/\.$/, '')}. Ask again ${wait}.`;
}

async function ask() {
  const mine = (busy = ++asked);
  renderForm();
  $('#whatif-answer').replaceChildren();
  say('The service plays futures of the cluster; that takes some seconds.', '');
  try {
    const answer = await post('/v1/whatif', question());
    if (mine === busy) renderAnswer(answer);
  } catch (problem) {
    if (mine === busy) say(inWords(problem), 'error');
  }
  if (mine !== busy) return;
  busy = 0;
  renderForm();
  if (!document.activeElement || document.activeElement === document.body || document.activeElement.matches('dialog')) $('#whatif-ask').focus(); // a disabled button loses it
}

// --- the form ---

// The form is filled when a job is opened, and kept while it is shown.
export function openWhatif(opened) {
  const own = ownTypes(opened);
  const most = Math.max(opened.gpus, Math.min(model.gpus.size, Math.max(8, 2 * opened.gpus)));
  job = opened;
  busy = 0;
  $('#w-types').replaceChildren(...clusterTypes().map((type) =>
    el('label', {class: 'check'}, el('input', {type: 'checkbox', value: type, checked: own.includes(type)}), type)));
  $('#w-shape').replaceChildren(...shapes().map((shape) => el('option', {value: shape}, shape)));
  attr($('#w-gpus'), 'max', most);
  $('#w-gpus').value = String(opened.gpus);
  $('#w-nodes').value = '0';
  $('#whatif-answer').replaceChildren();
  say('', '');
  renderWhatif(opened);
}

export function renderWhatif(fresh) {
  job = fresh;
  show($('#whatif'), job.state === 'PD' && !job.hold);
  if (!$('#whatif').hidden) renderForm();
}

export function startWhatif() {
  $('#whatif-form').addEventListener('input', renderForm);
  $('#whatif-form').addEventListener('submit', (event) => {
    event.preventDefault();
    ask();
  });
}
