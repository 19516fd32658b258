// blockers: why a job waits, in sentences: the earliest room and who is in it, what runs instead, what would be sooner.
import {$, el, show} from './dom.js';
import * as f from './format.js';
import {now} from './model.js';
import {get} from './api.js';
import {openJob} from './job.js';

// A job that the reader may not see has no label.
function other(job) {
  if (!job.label) return ['a job of another user'];
  return [el('button', {type: 'button', class: 'link', onclick: () => openJob(job.label)}, `#${job.label}`), ` (${job.name || 'no name'} of ${job.user})`];
}

const place = (room) => `${room.gpus} × ${room.type} ${room.node ? `in ${room.node}` : 'in several nodes'}`;
const when = (room) => (room.now ? 'now' : `at ${f.soon(room.at_s, now())}`);

function roomSentence(room) {
  if (!room) return ['There is no room for it even when all running jobs have ended: GPUs are down, drained or too few.'];
  if (room.now) return [`There is room now, ${place(room)}, but it is not its turn.`];
  const jobs = room.jobs.flatMap((job, i) => [i > 0 ? ', ' : '', ...other(job)]);
  const more = room.job_count - room.jobs.length;
  return [`Earliest room: ${place(room)} ${when(room)}, if `, ...jobs, more > 0 ? ` and ${more} more` : '', room.job_count === 1 ? ' ends as predicted.' : ' end as predicted.'];
}

function insteadSentence(job, mine) {
  const since = job.submit_s > mine.submit_s ? `, submitted ${f.span(Math.round(job.submit_s - mine.submit_s))} later, since ${f.moment(job.start_s, now())}` : '';
  return ['Runs instead: ', ...other(job), since, job.why ? `: ${job.why}` : '.'];
}

function sentences(blockers, job) {
  if (!blockers.queued) return [];
  return [roomSentence(blockers.room), ...blockers.instead.map((one) => insteadSentence(one, job)),
          ...blockers.help.map((room) => [`Sooner, if it can do with that: ${place(room)} ${when(room)}.`])];
}

// Of the job that the dialog shows; it may have started meanwhile.
export async function loadBlockers(job, isOpen) {
  let lines = [];
  if (job.state === 'PD') lines = await get(`/v1/jobs/${job.id}/blockers`).then((answer) => sentences(answer, job), () => []);
  if (!isOpen(job.id)) return;
  const list = $('#job-blockers');
  const focused = list.contains(document.activeElement) ? document.activeElement.textContent : null;
  list.replaceChildren(...lines.map((line) => el('li', {}, ...line)));
  show(list, lines.length > 0);
  if (focused) ([...list.querySelectorAll('button')].find((button) => button.textContent === focused) || $('#job-dialog [data-close]')).focus();
}
