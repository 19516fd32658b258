// decisions: what the scheduler did last, and why.
import {$, el, text, show, reconcile} from './dom.js';
import * as f from './format.js';
import {model, on, loads, now} from './model.js';
import {get} from './api.js';
import {openJob} from './job.js';

const KEPT = 30;
let list = [];

function create(decision) {
  return el('li', {'data-what': decision.what},
    el('p', {class: 'decision-head'},
      el('b', {}, decision.what), decision.job ? el('button', {type: 'button', class: 'link', onclick: () => openJob(decision.job)}, `#${decision.label}`) : null,
      el('span', {}, decision.gpus || ''), el('time', {}, f.moment(decision.time_s, now()))),
    el('p', {class: 'decision-why'}, decision.why || ''));
}

function render() {
  reconcile($('#decision-list'), list, (decision) => `${decision.sequence} ${decision.job} ${decision.time_s}`, create, () => {});
  show($('#decisions-empty'), list.length === 0);
}

export function startDecisions() {
  let drawing = 0;
  loads('decisions', async () => {
    list = (await get(`/v1/decisions?limit=${KEPT}`)).decisions;
    render();
  });
  on('decision', (decision) => {
    list = [decision, ...list].slice(0, KEPT);
    if (!drawing) drawing = setTimeout(() => { drawing = 0; render(); }, 500);
  });
  on('cluster', () => text($('#decisions-note'), model.cluster.policy ? `by ${model.cluster.policy.name}` : ''));
}
