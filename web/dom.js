// dom: building and changing elements. Text only ever becomes text: nothing here parses HTML.

export const $ = (selector, root = document) => root.querySelector(selector);

// el('td', {class: 'n', 'data-x': 1, onclick: f}, 'text', child): attributes by name, listeners by on….
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else attr(node, name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  use.setAttribute('href', `#i-${name}`);
  svg.append(use);
  return svg;
}

// The following change the page only where something differs.
export function text(node, value) {
  const wanted = value === null || value === undefined ? '' : String(value);
  if (node.textContent !== wanted) node.textContent = wanted;
}

export function attr(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else {
    const wanted = value === true ? '' : String(value);
    if (node.getAttribute(name) !== wanted) node.setAttribute(name, wanted);
  }
}

export function variable(node, name, value) {
  if (node.style.getPropertyValue(name) !== value) node.style.setProperty(name, value);
}

// Draws an interval around 0 on a scale that reaches to both sides; hides it where a bound is not known.
export function setBand(node, lo, hi, reach) {
  const known = Number.isFinite(lo) && Number.isFinite(hi);
  const place = (value) => (Math.min(1, Math.max(-1, value / reach)) + 1) / 2;
  show(node, known);
  if (!known) return;
  attr(node, 'data-kind', hi < 0 ? 'good' : lo > 0 ? 'bad' : null);
  variable(node.firstChild, '--from', place(lo).toFixed(3));
  variable(node.firstChild, '--wide', (place(hi) - place(lo)).toFixed(3));
}

export function show(node, visible) {
  if (node.hidden === Boolean(visible)) node.hidden = !visible;
}

// Makes the children of parent those of items, in their order; an element is kept as long as its key.
export function reconcile(parent, items, keyOf, create, update) {
  const known = parent.knownChildren || (parent.knownChildren = new Map());
  const wanted = new Set();
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let node = known.get(key);
    wanted.add(key);
    if (!node) known.set(key, (node = create(item)));
    update(node, item);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  for (const [key, node] of known) {
    if (wanted.has(key)) continue;
    node.remove();
    known.delete(key);
  }
}

// Announces it to screen readers.
const spoken = [];
let speaking = 0;
export function say(sentence) {
  spoken.push(sentence);
  if (speaking) return;
  speaking = setTimeout(() => {
    speaking = 0;
    const all = spoken.splice(0);
    $('#live').textContent = all.length > 3 ? `${all.slice(-2).join('. ')}, and ${all.length - 2} more changes` : all.join('. ');
  }, 1000);
}

let toastTimer = 0;
export function toast(message, kind = 'note', action = null) {
  const box = $('#toast');
  clearTimeout(toastTimer);
  box.replaceChildren(el('span', {}, message));
  if (action) box.append(el('button', {type: 'button', class: 'link', onclick: () => { box.hidden = true; action.run(); }}, action.label));
  ($('dialog[open]') || document.body).append(box); // what is behind a dialog is neither seen nor heard
  box.dataset.kind = kind;
  box.hidden = false;
  toastTimer = setTimeout(() => { box.hidden = true; }, kind === 'error' ? 12000 : 7000);
}

// Dialogs are the browser's own: they trap the focus, Esc closes them, and the focus returns to where it was.
export function openDialog(dialog) {
  if (!dialog.open) dialog.showModal();
}
for (const dialog of document.querySelectorAll('dialog')) {
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog && dialog.dataset.stay === undefined) dialog.close();
    if (event.target.closest('[data-close]')) dialog.close();
  });
}
