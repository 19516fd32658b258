// submit: the form for a new job.
import {$, el, text, openDialog, toast} from './dom.js';
import {model, touch} from './model.js';
import {get, post} from './api.js';
import {openJob} from './job.js';

// Splits a line into words as a shell would, but without expansions: only quotes and backslashes are special.
export function splitWords(line) {
  const words = [];
  let word = null;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (quote) {
      if (c === quote) quote = '';
      else if (c === '\\' && quote === '"' && '"\\$`'.includes(line[i + 1] || ' ')) word += line[++i];
      else word += c;
    } else if (c === '"' || c === "'") {
      quote = c;
      word ??= '';
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (c === '\\' && i + 1 < line.length) word = (word ?? '') + line[++i];
    else word = (word ?? '') + c;
  }
  if (quote) throw new Error(`the command has a ${quote} that is not closed`);
  if (word !== null) words.push(word);
  return words;
}

// "90" (minutes, as Slurm has it), "90m", "1h30m", "2d", "1:30:00", "2-12:00:00".
export function parseLimit(value) {
  const line = value.trim().toLowerCase();
  const units = {s: 1, m: 60, h: 3600, d: 86400};
  let match;
  if (/^\d+$/.test(line)) return Number(line) * 60;
  if (/^(\d+(\.\d+)?\s*[smhd]\s*)+$/.test(line))
    return [...line.matchAll(/(\d+(?:\.\d+)?)\s*([smhd])/g)].reduce((sum, [, n, unit]) => sum + Number(n) * units[unit], 0);
  if ((match = /^(?:(\d+)-)?(\d+):(\d{1,2})(?::(\d{1,2}))?$/.exec(line))) {
    const [, days = 0, a, b, c] = match;
    const rest = c === undefined ? (match[1] ? Number(a) * 3600 + Number(b) * 60 : Number(a) * 60 + Number(b))
                                 : Number(a) * 3600 + Number(b) * 60 + Number(c);
    return Number(days) * 86400 + rest;
  }
  throw new Error('a time limit is such as 90m, 24h or 1:30:00');
}

// The name of a job: 12, #12, 14_3.
async function numberOf(name) {
  const label = name.replace('#', '');
  return /^\d+$/.test(label) ? Number(label) : (await get(`/v1/jobs/${encodeURIComponent(label)}`)).id;
}

async function body() {
  const value = (id) => $(`#f-${id}`).value.trim();
  const result = {directory: value('directory'), time_limit_s: parseLimit(value('limit'))};
  const command = value('command');
  if (!command) throw new Error('the command is missing');
  if (!result.directory.startsWith('/')) throw new Error('the directory has to be an absolute path, such as /home/me');
  if ($('#f-shell').checked || command.includes('\n')) result.script = command.startsWith('#!') ? `${command}\n` : `#!/bin/sh\n${command}\n`;
  else result.command = splitWords(command);
  const gpus = value('gpus') || '1';
  result.gpus = /^\d+$/.test(gpus) ? Number(gpus) : gpus;
  if (value('name')) result.name = value('name');
  if (value('array')) result.array = value('array');
  if (value('begin')) result.begin_s = new Date(value('begin')).getTime() / 1000;
  if (value('after')) result.after = await Promise.all(value('after').split(/[\s,]+/).filter(Boolean).map(numberOf));
  if (value('priority') !== '' && Number(value('priority')) !== 0.5) result.priority = Number(value('priority'));
  for (const flag of ['requeue', 'share', 'hold']) if ($(`#f-${flag}`).checked) result[flag] = true;
  return result;
}

function answer(message, kind) {
  text($('#submit-answer'), message);
  $('#submit-answer').dataset.kind = kind;
}

async function send(dry) {
  const buttons = [$('#submit-check'), $('#submit-go')];
  for (const button of buttons) button.disabled = true;
  await hand(dry);
  for (const button of buttons) button.disabled = false;
}

async function hand(dry) {
  let job;
  try {
    job = await body();
  } catch (error) {
    answer(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`, 'error');
    return;
  }
  try {
    const reply = await post(dry ? '/v1/jobs?dry_run=1' : '/v1/jobs', job);
    const warnings = (reply.warnings || []).join(' ');
    if (dry) answer([reply.reason || 'It would be accepted.', warnings].filter(Boolean).join(' '), 'good');
    else {
      sessionStorage.setItem('adlro-directory', job.directory);
      $('#submit-dialog').close();
      $('#f-command').value = '';
      touch('queue', 'running', 'cluster');
      toast(`${reply.count > 1 ? `${reply.count} jobs from` : 'Job'} #${reply.id} ${reply.count > 1 ? 'are' : 'is'} submitted. ${warnings}`.trim(), 'good',
        {label: 'Show', run: () => openJob(reply.id)});
    }
  } catch (problem) {
    answer(problem.full || problem.message, 'error');
  }
}

function noteCommand() {
  const command = $('#f-command').value;
  const byShell = $('#f-shell').checked || command.includes('\n');
  let note = '';
  if (!byShell && /(^|\s)(\||&&|;|>|<|2>)|[*$`]/.test(command.replace(/'[^']*'/g, '')))
    note = 'Without a shell, characters such as | > $ * are passed to the program unchanged.';
  text($('#f-command-note'), note);
}

// like: a job whose request fills the form.
export function openSubmit(like = null) {
  const types = [...new Set([...model.gpus.values()].map((gpu) => gpu.type))];
  $('#f-types').replaceChildren(...['1', '2', '4', ...types.map((type) => `${type}:1`), types.length > 1 ? types.map((type) => `${type}:1`).join('|') : null]
    .filter(Boolean).map((value) => el('option', {value})));
  if (!$('#f-directory').value)
    $('#f-directory').value = sessionStorage.getItem('adlro-directory') || (model.me ? (model.me.user === 'root' ? '/root' : `/home/${model.me.user}`) : '');
  if (like) {
    $('#f-command').value = like.command || '';
    $('#f-gpus').value = like.request || String(like.gpus);
    $('#f-limit').value = `${like.time_limit_s}s`;
    $('#f-directory').value = like.directory || '';
    $('#f-name').value = like.name || '';
    $('#f-priority').value = String(like.priority);
    $('#f-share').checked = like.share;
    $('#f-requeue').checked = like.requeue;
  }
  answer('', '');
  noteCommand();
  for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close();
  openDialog($('#submit-dialog'));
  $('#f-command').focus();
}

export function startSubmit() {
  $('#submit-open').addEventListener('click', () => openSubmit());
  $('#submit-check').addEventListener('click', () => send(true));
  $('#submit-form').addEventListener('submit', (event) => {
    event.preventDefault();
    send(false);
  });
  $('#f-command').addEventListener('input', noteCommand);
  $('#f-shell').addEventListener('change', noteCommand);
  $('#f-command').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey || (!event.shiftKey && !$('#f-shell').checked && !$('#f-command').value.includes('\n')))) {
      event.preventDefault();
      send(false);
    }
  });
}
