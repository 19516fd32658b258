// api: requests to the service, with a token where one is needed, and the stream of its events.

const TOKEN = 'adlro-token'; // in the session's storage: gone with the tab

export class Problem extends Error {
  constructor(status, body, retry_s = 0) {
    const error = (body && body.error) || {};
    super(error.message || `the service answered ${status}`);
    this.status = status;
    this.hint = error.hint || '';
    this.retry_s = retry_s; // when the service asks to be asked again
  }
  get full() {
    return this.hint ? `${this.message}. ${this.hint}` : this.message;
  }
}

let askForToken = async () => { throw new Problem(401, null); };
let asking = null;

// ask(wasWrong) resolves to a token once the user has entered one.
export function useTokenDialog(ask) {
  askForToken = ask;
}

export const hasToken = () => Boolean(sessionStorage.getItem(TOKEN));

export function forgetToken() {
  sessionStorage.removeItem(TOKEN);
  location.reload();
}

function headers(more = {}) {
  const token = sessionStorage.getItem(TOKEN);
  return token ? {...more, Authorization: `Bearer ${token}`} : more;
}

// One dialog, however many requests were refused.
function newToken(refused) {
  if (sessionStorage.getItem(TOKEN) !== refused && sessionStorage.getItem(TOKEN)) return Promise.resolve();
  if (!asking) {
    asking = askForToken(Boolean(refused))
      .then((token) => sessionStorage.setItem(TOKEN, token))
      .finally(() => { asking = null; });
  }
  return asking;
}

async function authorized(path, options) {
  for (;;) {
    const used = sessionStorage.getItem(TOKEN);
    const response = await fetch(path, {...options, headers: headers(options.headers), cache: 'no-store'});
    if (response.status !== 401) return response;
    await newToken(used);
  }
}

export async function call(method, path, body) {
  const options = {method, headers: {Accept: 'application/json'}};
  if (body !== undefined) {
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  const response = await authorized(path, options);
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Problem(response.status, answer, Number(response.headers.get('Retry-After')) || 0);
  return answer;
}

export const get = (path) => call('GET', path);
export const post = (path, body) => call('POST', path, body);

const SILENCE_MS = 40000; // the service says something every 15 s
const WAIT_LEAST_MS = 500;
const WAIT_MOST_MS = 8000;

// EventSource cannot send a token, so the stream is read with fetch(). Never ends; reports its state:
// open() after each connection, event(kind, data), lost(wait_ms) when it broke and will be retried after that time.
export async function follow({open, event, lost}) {
  let last = '';
  let wait = WAIT_LEAST_MS;
  for (;;) {
    const abort = new AbortController();
    let watchdog = 0;
    try {
      const response = await authorized('/v1/events', {
        headers: {Accept: 'text/event-stream', ...(last ? {'Last-Event-ID': last} : {})},
        signal: abort.signal,
      });
      if (!response.ok) throw new Problem(response.status, null);
      open();
      wait = WAIT_LEAST_MS;
      const alive = () => {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
      };
      await readEvents(response.body, alive, (kind, data, id) => {
        if (id) last = id;
        event(kind, data);
      });
    } catch {
      // Whatever the error was, reconnecting is the remedy.
    }
    clearTimeout(watchdog);
    abort.abort();
    const pause = wait * (0.75 + Math.random() / 2);
    lost(pause);
    await Promise.race([new Promise((resolve) => setTimeout(resolve, pause)),
                        new Promise((resolve) => addEventListener('online', resolve, {once: true}))]);
    wait = Math.min(wait * 2, WAIT_MOST_MS);
  }
}

async function readEvents(body, alive, event) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  let kind = '';
  let data = [];
  let id = '';
  alive();
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    alive();
    const lines = (buffer + value).split('\n');
    buffer = lines.pop();
    for (const line of lines) {
      if (line === '') {
        if (kind || data.length) dispatch(kind || 'message', data.join('\n'), id, event);
        kind = '';
        data = [];
      } else if (line.startsWith('event:')) kind = line.slice(6).trim();
      else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
      else if (line.startsWith('id:')) id = line.slice(3).trim();
    }
  }
}

function dispatch(kind, data, id, event) {
  let value = null;
  try {
    value = JSON.parse(data);
  } catch {
    value = null; // a gap has no data
  }
  event(kind, value, id);
}
