// format: numbers, times and sizes in words.

const whole = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const one = new Intl.NumberFormat('en', {maximumFractionDigits: 1});
const known = (value) => typeof value === 'number' && Number.isFinite(value);
const two = (value) => String(value).padStart(2, '0');

export const DASH = '–';
export const count = (value) => (known(value) ? whole.format(value) : DASH);
export const percent = (ratio) => (known(ratio) ? `${whole.format(ratio * 100)} %` : DASH);
// A relative change: "−21.6 %", "+3 %"; of a share, in points.
export function change(ratio, unit = '%') {
  if (!known(ratio)) return DASH;
  const percents = Math.round(ratio * 1000) / 10;
  return percents === 0 ? `0 ${unit}` : `${percents < 0 ? '−' : '+'}${one.format(Math.abs(percents))} ${unit}`;
}
export const days = (value) => (known(value) ? one.format(value) : DASH);
export const plural = (value, noun) => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

export function duration(seconds) {
  if (!known(seconds)) return DASH;
  const s = Math.max(0, seconds);
  if (s < 9.95) return `${one.format(s)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${two(Math.floor(s % 60))} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} m`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

// For limits and the like: without parts that are zero.
export const span = (seconds) => duration(seconds).replace(/ (00 [ms]|0 h)$/, '');

export const hours = (value) => (!known(value) ? DASH : value < 100 ? one.format(value) : whole.format(value));

export function power(watts) {
  if (!known(watts)) return DASH;
  return watts < 10000 ? `${whole.format(watts)} W` : `${one.format(watts / 1000)} kW`;
}

export function energy(joules) {
  if (!known(joules)) return DASH;
  const wh = joules / 3600;
  if (wh < 1) return `${whole.format(joules)} J`;
  if (wh < 1000) return `${wh < 10 ? one.format(wh) : whole.format(wh)} Wh`;
  return wh < 1e6 ? `${one.format(wh / 1000)} kWh` : `${one.format(wh / 1e6)} MWh`;
}

export function memory(mib) {
  if (!known(mib)) return DASH;
  return mib < 1024 ? `${whole.format(mib)} MiB` : `${one.format(mib / 1024)} GiB`;
}

// A twin's clock may start at zero: then times count from its start.
export function clock(seconds, withSeconds = true) {
  if (!known(seconds)) return DASH;
  if (seconds < 1e8) {
    const day = Math.floor(seconds / 86400);
    const rest = seconds % 86400;
    const hours = `${two(Math.floor(rest / 3600))}:${two(Math.floor((rest % 3600) / 60))}`;
    return `${day > 0 ? `day ${day}, ` : ''}${hours}${withSeconds ? `:${two(Math.floor(rest % 60))}` : ''}`;
  }
  const date = new Date(seconds * 1000);
  return `${two(date.getHours())}:${two(date.getMinutes())}${withSeconds ? `:${two(date.getSeconds())}` : ''}`;
}

export function moment(seconds, now) {
  if (!known(seconds)) return DASH;
  if (seconds < 1e8 || Math.abs(now - seconds) < 43200) return clock(seconds);
  const date = new Date(seconds * 1000);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(seconds)}`;
}

// Of a time to come: without seconds, and with its day if that is not near.
export function soon(seconds, now) {
  if (!known(seconds)) return DASH;
  if (seconds < 1e8 || seconds - now < 43200) return clock(seconds, false);
  const date = new Date(seconds * 1000);
  return `${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(seconds, false)}`;
}

export const STATES = {PD: 'pending', R: 'running', CD: 'completed', F: 'failed', CA: 'cancelled', TO: 'timed out'};

// "2 × v100, a100" of an allocation.
export function allocation(gpus) {
  const types = new Map();
  for (const {type} of gpus || []) types.set(type || 'GPU', (types.get(type || 'GPU') || 0) + 1);
  return [...types].map(([type, n]) => (n === 1 ? type : `${n} × ${type}`)).join(', ');
}

// "v100:2|a100:1" in words; allTypes are those of the cluster: a job that accepts all of them just asks for GPUs.
export function request(job, allTypes = []) {
  const parts = String(job.request || '').split('|').map((part) => /^([^:]+):(\d+)$/.exec(part));
  if (parts.some((part) => !part)) return plural(job.gpus, 'GPU');
  const times = (n) => (n === '1' ? '' : `${n} × `);
  const types = parts.map((part) => part[1]);
  if (parts.some((part) => part[2] !== parts[0][2])) return parts.map((part) => times(part[2]) + part[1]).join(' or ');
  if (allTypes.length > 1 && allTypes.every((type) => types.includes(type))) return plural(Number(parts[0][2]), 'GPU');
  return times(parts[0][2]) + (types.length > 3 ? `${types.slice(0, 2).join(' or ')} or ${types.length - 2} other types` : types.join(' or '));
}

// "2 × a100 on ampere (1, 2)" of the names of GPUs in events: "ampere:a100#1 ampere:a100#2".
export function places(names) {
  const groups = new Map();
  for (const name of names.split(' ')) {
    const [, node, type, index] = /^(.*):([^:#]*)#(\d+)$/.exec(name) || [];
    if (!node) return names;
    const key = `${type} on ${node}`;
    groups.set(key, [...(groups.get(key) || []), index]);
  }
  return [...groups].map(([key, list]) => `${list.length > 1 ? `${list.length} × ` : ''}${key} (${list.join(', ')})`).join('; ');
}
