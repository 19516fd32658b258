// app: the frame of the page: connection, user, totals, theme, keys; and the entry point.
import {$, el, text, attr, show, variable, reconcile, openDialog, toast} from './dom.js';
import * as f from './format.js';
import {model, on, start, now} from './model.js';
import {useTokenDialog, hasToken, forgetToken} from './api.js';
import {startGpus, sign, setSign, STATE_WORDS} from './gpus.js';
import {startJobs} from './jobs.js';
import {startJob} from './job.js';
import {startSubmit, openSubmit} from './submit.js';
import {startCharts} from './charts.js';
import {startDecisions} from './decisions.js';
import {startShadow} from './shadow.js';
import {startUsers} from './users.js';
import {startGpuHistory} from './gpu_history.js';

// --- header ---

function renderWorld(cluster) {
  const badge = $('#world');
  const speed = cluster.speed && cluster.speed !== 1 ? ` ×${f.count(cluster.speed)}` : '';
  const simulated = cluster.engine === 'sim';
  show(badge, simulated || cluster.virtual);
  text(badge, simulated ? `Simulated${speed}` : 'Virtual GPUs');
  attr(badge, 'title', simulated ? 'A twin: neither jobs nor GPUs are real' : 'Jobs run for real, on virtual GPUs');
}

function renderHeader(cluster) {
  renderWorld(cluster);
  $('#policy').replaceChildren(...(cluster.policy ? [el('b', {}, cluster.policy.name), ` ${cluster.policy.summary || ''}`] : []));
  show($('#trouble'), cluster.trouble);
  text($('#trouble'), cluster.trouble || '');
  text($('#version'), `adlro ${cluster.version || ''}, engine ${cluster.engine}`);
  document.title = `${cluster.counts.busy}/${cluster.counts.gpus} · adlro`;
}

function renderConnection() {
  const words = {connecting: 'connecting', live: 'live', lost: 'reconnecting'};
  const node = $('#connection');
  attr(node, 'data-state', model.connection);
  text(node.lastElementChild, words[model.connection]);
  document.body.dataset.connection = model.connection;
}

// --- totals ---

const STATES = ['busy', 'draining', 'idle', 'drained', 'occupied', 'lost'];

function renderTotals(cluster) {
  const {counts} = cluster;
  const there = STATES.filter((state) => counts[state] > 0);
  text($('#t-busy'), f.count(counts.busy));
  text($('#t-gpus'), `of ${f.count(counts.gpus)}`);
  reconcile($('#t-states'), there, (state) => state, (state) => el('i', {'data-state': state}),
    (node, state) => variable(node, '--n', String(counts[state])));
  const words = there.map((state) => `${f.count(counts[state])} ${state}`).join(', ');
  attr($('#t-states'), 'aria-label', words);
  reconcile($('#t-states-text'), there, (state) => state, () => el('span', {class: 'state'}),
    (node, state) => setSign(node, state, `${f.count(counts[state])} ${state}`));
  text($('#t-running'), f.count(counts.running));
  text($('#t-running-under'), `${f.count(counts.completed)} completed${counts.failed + counts.timed_out > 0 ? `, ${f.count(counts.failed + counts.timed_out)} failed` : ''}`);
  text($('#t-pending'), f.count(counts.pending));
  text($('#t-pending-under'), `${f.count(counts.submitted)} submitted`);
  text($('#t-power'), f.power(cluster.power_w));
  let most = 0;
  for (const gpu of model.gpus.values()) most += gpu.max_w || 0;
  text($('#t-power-under'), typeof cluster.power_w === 'number' ? `of ${f.power(most)}` : 'no telemetry');
  text($('#t-energy'), cluster.energy_j > 0 ? f.energy(cluster.energy_j) : f.DASH);
  text($('#t-energy-under'), `since ${f.moment(cluster.started_s, now()).replace(/:\d\d$/, '')}`);
}

function renderSampledPower() {
  let sum = 0;
  let some = false;
  for (const gpu of model.gpus.values()) {
    if (typeof gpu.power_w !== 'number') continue;
    sum += gpu.power_w;
    some = true;
  }
  if (some) text($('#t-power'), f.power(sum));
}

// --- token ---

function startToken() {
  const dialog = $('#token-dialog');
  dialog.addEventListener('cancel', (event) => event.preventDefault()); // nothing works without one
  useTokenDialog((wasWrong) => new Promise((resolve) => {
    text($('#token-note'), wasWrong ? 'The service does not know this token.' : '');
    openDialog(dialog);
    $('#token-text').focus();
    $('#token-form').onsubmit = (event) => {
      const token = $('#token-text').value.trim();
      event.preventDefault();
      if (!/^[\x21-\x7e]+$/.test(token)) {
        text($('#token-note'), 'A token is one word, such as adl_…');
        return;
      }
      $('#token-text').value = '';
      dialog.close();
      resolve(token);
    };
  }));
  $('#token-forget button').addEventListener('click', forgetToken);
}

// --- theme, keys, help ---

function startTheme() {
  const next = () => dispatchEvent(new Event('adlro-theme-next'));
  const render = () => {
    const chosen = document.documentElement.dataset.themeChoice;
    $('#theme use').setAttribute('href', `#i-${chosen}`);
    attr($('#theme'), 'aria-label', `Theme: ${chosen === 'auto' ? 'same as the system' : chosen}`);
    attr($('#theme'), 'title', $('#theme').getAttribute('aria-label'));
  };
  $('#theme').addEventListener('click', next);
  addEventListener('adlro-theme', render);
  render();
  return next;
}

function startKeys(nextTheme) {
  const box = $('#keys-on');
  const go = (id) => () => {
    const section = $(`#${id}`);
    const first = $('tbody button, .gpu[tabindex="0"], canvas, .decision-head button', section) || section;
    section.scrollIntoView({block: 'start', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
    first.focus({preventScroll: true});
  };
  const keys = {
    's': () => openSubmit(), '/': () => $('#filter-text').focus(), '?': () => openDialog($('#help-dialog')), 't': nextTheme,
    'g': go('gpus'), 'q': go('queue'), 'r': go('running'), 'e': go('ended'), 'u': go('users'), 'o': go('history'), 'd': go('decisions'),
  };
  box.checked = localStorage.getItem('adlro-keys') !== 'off';
  box.addEventListener('change', () => localStorage.setItem('adlro-keys', box.checked ? 'on' : 'off'));
  $('#help-open').addEventListener('click', keys['?']);
  document.addEventListener('keydown', (event) => {
    if (!box.checked || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest('input, textarea, select, dialog') || $('dialog[open]') || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}

function startHelp() {
  const words = {...STATE_WORDS, CD: 'the job completed', F: 'it failed', CA: 'it was cancelled', TO: 'its time limit was over'};
  $('#signs').replaceChildren(...Object.entries(words).map(([state, meaning]) =>
    el('li', {}, sign(state), el('b', {}, f.STATES[state] || state), el('span', {}, meaning))));
  $('#help-dialog').addEventListener('toggle', () => show($('#token-forget'), hasToken()));
}

on('cluster', (cluster) => {
  renderHeader(cluster);
  renderTotals(cluster);
});
on('sample', renderSampledPower);
on('me', (me) => {
  text($('#me'), me.admin ? `${me.user}, admin` : me.user);
  show($('#token-forget'), hasToken());
  show($('.foot [href="/metrics"]'), !hasToken()); // a link cannot bring the token along
});
on('connection', renderConnection);
on('jct', ({mean_s, over_s}) => {
  const twin = model.cluster && model.cluster.speed !== 1;
  text($('#t-jct'), f.duration(mean_s));
  text($('#t-jct-under'), `mean of the last ${twin ? f.span(Math.max(60, Math.round(over_s / 60) * 60)) : 'hour'}`);
});
on('problem', (problem) => toast(problem.full || problem.message, 'error'));

startToken();
startHelp();
startKeys(startTheme());
startGpus();
startJobs();
startJob();
startSubmit();
startCharts();
startDecisions();
startShadow();
startUsers();
startGpuHistory();
start();
setInterval(() => {
  if (model.cluster && !document.hidden) text($('#clock'), `service time ${f.clock(now())}`);
}, 1000);
