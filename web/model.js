// model: what the page knows of the service, and when it requests it again. At most two rounds of requests a second, fewer when
// answers are slow, none while the tab is hidden.
import {get, follow} from './api.js';
import {say} from './dom.js';
import {STATES} from './format.js';

export const model = {
  me: null,
  cluster: null,
  connection: 'connecting', // 'live', 'lost'
  retryAt: 0,
  gpus: new Map(), // by number
  minutes: 60, // the range of charts and histories, in real time
};

// The same in the service's time; a twin's runs faster.
export const rangeSeconds = (minutes = model.minutes) => minutes * 60 * ((model.cluster && model.cluster.speed) || 1);

const listeners = new Map();
export function on(name, listener) {
  if (!listeners.has(name)) listeners.set(name, []);
  listeners.get(name).push(listener);
}
export function emit(name, value) {
  for (const listener of listeners.get(name) || []) listener(value);
}

// The service's clock: a twin's runs faster than ours.
const anchor = {service_s: Date.now() / 1000, here_ms: performance.now(), speed: 1};
export const now = () => anchor.service_s + ((performance.now() - anchor.here_ms) / 1000) * anchor.speed;

function setCluster(cluster) {
  anchor.service_s = cluster.now_s;
  anchor.here_ms = performance.now();
  anchor.speed = cluster.speed || 1;
  model.cluster = cluster;
  model.gpus.clear();
  for (const node of cluster.nodes) for (const gpu of node.gpus) model.gpus.set(gpu.gpu, gpu);
  emit('cluster', cluster);
}

// --- asking again ---

const loaders = new Map(); // name -> async function
const dirty = new Set();
let round = 0;
const PAUSE_MS = 500;
const RETRY_MS = 3000;

export function loads(name, loader) {
  loaders.set(name, loader);
}

export function touch(...names) {
  for (const name of names) dirty.add(name);
  schedule(0);
}

function schedule(delay) {
  if (!round && !document.hidden && dirty.size > 0) round = setTimeout(ask, delay);
}

async function ask() {
  const names = [...dirty];
  const start = performance.now();
  dirty.clear();
  const results = await Promise.allSettled(names.map((name) => loaders.get(name)()));
  results.forEach((result, i) => {
    // Without a connection the stream says so, and everything is requested again when it is back.
    if (result.status !== 'rejected' || result.reason instanceof TypeError) return;
    emit('problem', result.reason);
    if (result.reason.status >= 429) setTimeout(() => touch(names[i]), RETRY_MS);
  });
  const took = performance.now() - start;
  setTimeout(() => {
    round = 0;
    schedule(0);
  }, Math.max(PAUSE_MS, 2 * took));
}

document.addEventListener('visibilitychange', () => schedule(0));

loads('me', async () => {
  model.me = await get('/v1/whoami');
  emit('me', model.me);
});
loads('health', async () => emit('health', await get('/v1/health')));
loads('cluster', async () => setCluster(await get('/v1/cluster')));

export const EVERYTHING = ['me', 'cluster', 'health', 'shadow', 'queue', 'running', 'ended', 'users', 'decisions', 'history'];

// --- the stream ---

const handlers = {
  job(data) {
    touch('queue', 'running', 'cluster');
    if (data && !['PD', 'R'].includes(data.state)) touch('ended');
    if (data && model.me && data.user === model.me.user) say(`Job ${data.label} ${data.name || ''} is ${STATES[data.state] || data.state}`);
    emit('job', data);
  },
  gpu(data) {
    touch('cluster');
    if (data && data.state === 'lost') say(`GPU ${data.gpu} is lost: ${data.reason}`);
  },
  sample(data) {
    if (!data) return;
    for (const sample of data.gpus || []) {
      const gpu = model.gpus.get(sample.gpu);
      if (gpu) Object.assign(gpu, sample, {sample_s: data.time_s});
    }
    emit('sample', data);
  },
  decision(data) {
    if (data) emit('decision', data);
  },
  health(data) {
    touch('cluster', 'health', 'shadow');
    if (data && data.text) say(data.text);
  },
  forecast() {
    touch('queue');
    emit('forecast');
  },
  service(data) {
    touch('cluster', 'health', 'shadow');
    if (data && data.text) say(data.text);
  },
  gap() {
    touch(...EVERYTHING);
  },
};

function setConnection(state, wait_ms = 0) {
  const was = model.connection;
  model.connection = state;
  model.retryAt = performance.now() + wait_ms;
  if (state !== was) {
    if (state === 'lost') say('Connection to the service lost');
    else if (was === 'lost') say('Connected to the service again');
  }
  emit('connection', state);
}

// The caller's identity is requested first and alone: if a token is needed, the dialog opens once.
export async function start() {
  await loaders.get('me')().catch(() => {});
  touch(...EVERYTHING);
  follow({
    open() {
      setConnection('live');
      touch(...EVERYTHING);
    },
    event(kind, data) {
      const handler = Object.hasOwn(handlers, kind) ? handlers[kind] : null;
      if (handler) handler(data);
    },
    lost(wait_ms) {
      setConnection('lost', wait_ms);
    },
  });
  setInterval(() => touch('cluster', 'health', 'shadow'), 15000); // energy and counts go on without events
}
