// users: what each user runs, waits for and used over the range of the charts. A click shows that user's jobs.
import {$, el, icon, text, attr, show, reconcile} from './dom.js';
import * as f from './format.js';
import {model, on, emit, loads, touch, rangeSeconds} from './model.js';
import {get} from './api.js';

const PAGE = 10;
let cursors = [null];
let next = null;
let chosen = '';

function create(row) {
  const cell = (name) => el('td', {role: 'cell', class: `u-${name}`});
  const button = el('button', {type: 'button', class: 'link'}, row.user);
  const node = el('tr', {role: 'row'}, el('td', {role: 'cell', class: 'u-user'}, button), cell('running'), cell('waiting'), cell('hours'), cell('idle'), cell('wait'), cell('ended'));
  node.addEventListener('click', () => emit('user', chosen === row.user ? '' : row.user));
  return node;
}

// The label stands before the figure where the page is too narrow for the line of titles.
function update(node, row) {
  const figures = [f.count(row.running), f.count(row.waiting), f.hours(row.gpu_hours), row.idle_gpu_hours > 0 ? f.hours(row.idle_gpu_hours) : f.DASH, f.duration(row.wait_mean_s), f.count(row.ended)];
  figures.forEach((figure, i) => text(node.children[i + 1], figure));
  attr(node, 'data-mine', model.me && model.me.user === row.user);
  attr(node.firstChild.firstChild, 'aria-pressed', String(chosen === row.user));
}

let rows = [];
function render() {
  reconcile($('#users tbody'), rows, (row) => row.user, create, update);
  show($('#users table'), rows.length > 0);
  show($('#users .empty'), rows.length === 0);
  const pager = $('#users .pager');
  if (!pager.firstChild)
    pager.append(el('button', {type: 'button', class: 'quiet', 'aria-label': 'Previous page', onclick: () => { cursors.pop(); touch('users'); }}, icon('prev')),
      el('button', {type: 'button', class: 'quiet', 'aria-label': 'Next page', onclick: () => { cursors.push(next); touch('users'); }}, icon('next')));
  show(pager, cursors.length > 1 || next !== null);
  attr(pager.firstChild, 'disabled', cursors.length === 1);
  attr(pager.lastChild, 'disabled', next === null);
}

export function startUsers() {
  loads('users', async () => {
    const after = cursors[cursors.length - 1];
    const answer = await get(`/v1/users?minutes=${model.minutes}&limit=${PAGE}${after === null ? '' : `&after=${encodeURIComponent(after)}`}`);
    rows = answer.users;
    next = answer.next;
    text($('#users-note'), `over the last ${f.span(rangeSeconds())}${answer.complete ? '' : ', as far as the last 50,000 jobs tell'}`);
    render();
  });
  on('range', () => {
    cursors = [null];
    touch('users');
  });
  on('user', (user) => {
    chosen = user;
    render();
  });
  on('me', render);
  setInterval(() => touch('users'), 10000);
}
