(function() {
'use strict';
var d = document;
d.documentElement.classList.add('js');
d.querySelectorAll('input[data-k]').forEach(function(box) {
  box.addEventListener('change', function() {
    d.querySelectorAll('.k' + box.dataset.k).forEach(function(e) { e.classList.toggle('off', !box.checked) })
  })
});
var tip = d.createElement('div');
tip.className = 'tip';
tip.hidden = true;
d.body.appendChild(tip);
function show(e, text) {
  tip.textContent = text;
  tip.hidden = false;
  var r = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - r.width - 6)) + 'px';
  tip.style.top = Math.max(4, Math.min(e.clientY + 16, innerHeight - r.height - 6)) + 'px'
}
function num(v) {
  var a = Math.abs(v);
  return a >= 1e6 || (a > 0 && a < 1e-3) ? v.toExponential(2) : String(+v.toPrecision(a >= 1000 ? 4 : 3))
}
function dur(s) {
  return s >= 86400  ? num(s / 86400) + ' d'
         : s >= 3600 ? num(s / 3600) + ' h'
         : s >= 60   ? num(s / 60) + ' min'
         : s >= 1    ? num(s) + ' s'
                     : num(s * 1000) + ' ms'
}
function put(v, u) { return u === 't' ? dur(v) : num(v) + (u ? ' ' + u : '') }
function list(t) { return t.split(' ').map(Number) }
function at(x, px) {
  var f = (px - x[0]) / (x[1] - x[0]);
  return x[4] ? x[2] * Math.pow(x[3] / x[2], f) : x[2] + f * (x[3] - x[2])
}
d.querySelectorAll('svg[data-x]').forEach(function(svg) {
  var x = list(svg.dataset.x), unit = svg.dataset.u, cross = null;
  var box = svg.viewBox.baseVal, lines = [].map.call(svg.querySelectorAll('polyline[data-n]'), function(p) {
    return {
      e: p, y: list(p.dataset.y),
          p: p.getAttribute('points').trim().split(' ').map(function(q) { return q.split(',').map(Number) })
    }
  });
  function read(p, px) {
    var a = 0, b = p.length - 1;
    if (px < p[0][0] - 4 || px > p[b][0] + 4)
      return null;
    while (b - a > 1) {
      var m = (a + b) >> 1;
      if (p[m][0] <= px)
        a = m;
      else
        b = m
    }
    var w = p[b][0] - p[a][0], f = w > 0 ? Math.max(0, Math.min(1, (px - p[a][0]) / w)) : 1;
    return p[a][1] + f * (p[b][1] - p[a][1])
  }
  function leave() {
    tip.hidden = true;
    if (cross) {
      cross.remove();
      cross = null
    }
  }
  svg.addEventListener('pointerleave', leave);
  svg.addEventListener('pointermove', function(e) {
    var r = svg.getBoundingClientRect(), px = (e.clientX - r.left) / r.width * box.width, out = [];
    var bar = e.target;
    if (bar.tagName === 'rect' && /^g\d/.test(bar.getAttribute('class'))) {
      var from = +bar.getAttribute('x'), to = from + +bar.getAttribute('width'), k = bar.getAttribute('class');
      show(e, (bar.dataset.j ? 'job ' + bar.dataset.j : 'several short jobs') + ', ' +
                  [ 'training', 'inference', 'simulation', 'data' ][+k[1]] + '\n' + put(at(x, from), '') + ' to ' +
                  put(at(x, to), unit) + (/ x$/.test(k) ? '\ncut short' : ''));
      return
    }
    if (!lines.length || px < x[0] || px > x[1]) {
      leave();
      return
    }
    lines.forEach(function(l) {
      if (l.e.classList.contains('off'))
        return;
      var y = read(l.p, px);
      if (y !== null)
        out.push(l.e.dataset.n + '  ' + put(at(l.y, y), l.e.dataset.u))
    });
    if (!cross) {
      cross = d.createElementNS(svg.namespaceURI, 'line');
      cross.setAttribute('class', 'cross');
      svg.appendChild(cross)
    }
    cross.setAttribute('x1', px);
    cross.setAttribute('x2', px);
    cross.setAttribute('y1', 6);
    cross.setAttribute('y2', box.height - 48);
    show(e, put(at(x, px), unit) + '\n' + out.join('\n'))
  })
})
})();
