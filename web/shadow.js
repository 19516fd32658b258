// shadow: how the policy that shadows does against the one in force; hidden while none shadows.
import {$, el, text, attr, show, setBand, reconcile} from './dom.js';
import * as f from './format.js';
import {loads, now} from './model.js';
import {get} from './api.js';

const FIGURES = [
  {key: 'jct_s', name: 'Mean completion time', value: f.duration},
  {key: 'p99_s', name: '99th percentile of it', value: f.duration},
  {key: 'energy_j', name: 'Energy', value: f.energy},
  {key: 'sla_missed', name: 'Deadlines missed', value: f.percent, unit: 'points'},
];

// On trial the roles are exchanged: the promoted policy decides, and the one before shadows it.
function title({state, in_force, candidate}) {
  if (state === 'on trial') return `${candidate} decides on trial; the policy before shadows it`;
  if (state === 'confirmed') return `${candidate} is confirmed and decides`;
  if (state === 'rolled back') return `${candidate} was rolled back; ${in_force} decides`;
  return `${candidate} shadows ${in_force}`;
}

function gate(shadow) {
  const words = {closed: 'Gate closed', open: 'Gate open: it may be promoted', 'on trial': 'On trial', confirmed: 'Confirmed', 'rolled back': 'Rolled back'};
  return [words[shadow.state] || shadow.state, shadow.reason].filter(Boolean).join(': ');
}

function evidence(shadow) {
  const parts = [f.plural(shadow.windows, 'window'), f.plural(shadow.jobs, 'job'), `${f.days(shadow.days)} of the ${f.days(shadow.days_needed)} days needed`];
  if (shadow.windows > 0) parts.push(`the model is off by ${f.change(shadow.model_bias)}`);
  const since = typeof shadow.started_at === 'number' ? `Since ${f.moment(shadow.started_at, now())}: ` : '';
  return `${since}${parts.join(', ')}${shadow.gate === 'auto' ? '; the service promotes it when the gate opens' : ''}.`;
}

function create() {
  return el('li', {}, el('span', {class: 'score-name'}), el('b'), el('small'), el('small'), el('span', {class: 'score-band', 'aria-hidden': 'true'}, el('i')));
}

// Less is better in all figures. An interval that contains 0 shows nothing yet.
function update(node, {kind, figure, reach}) {
  const [name, change, values, interval, band] = node.children;
  const {change_lo: lo, change_hi: hi} = figure;
  setBand(band, lo, hi, reach);
  text(name, kind.name);
  text(change, f.change(figure.change, kind.unit));
  attr(change, 'data-kind', band.hidden ? null : band.getAttribute('data-kind'));
  text(values, `${kind.value(figure.in_force)} in force, ${kind.value(figure.shadow)} shadow`);
  text(interval, band.hidden ? 'too few windows for an interval' : `${f.change(lo, kind.unit)} to ${f.change(hi, kind.unit)}`);
}

export function renderShadow(shadow) {
  const there = shadow.state !== 'none';
  show($('#shadow'), there);
  if (!there) return;
  const rows = shadow.windows > 0 ? FIGURES.filter(({key}) => shadow.figures[key]) : [];
  const reach = Math.max(0.01, ...rows.flatMap(({key}) => [shadow.figures[key].change_lo, shadow.figures[key].change_hi]).filter(Number.isFinite).map(Math.abs));
  text($('#shadow-note'), title(shadow));
  text($('#shadow-gate'), gate(shadow));
  attr($('#shadow-gate'), 'data-kind', {open: 'good', confirmed: 'good', 'rolled back': 'error'}[shadow.state] || null);
  text($('#shadow-evidence'), evidence(shadow));
  text($('#shadow-trouble'), shadow.trouble ? `The service could not play the shadow: ${shadow.trouble}` : '');
  show($('#shadow-trouble'), shadow.trouble);
  reconcile($('#shadow-figures'), rows.map((kind) => ({kind, figure: shadow.figures[kind.key], reach})), ({kind}) => kind.key, create, update);
}

export function startShadow() {
  loads('shadow', async () => renderShadow(await get('/v1/shadow')));
}
