#include "report/page_style.h"

#include "report/svg.h"

#include <stddef.h>

/* The colours of policies and kinds of job are Okabe and Ito's, which people with any common colour vision
 * tell apart; the first policy, against which the others are measured, is grey. */
static const char *const style[] = {
    ":root{color-scheme:light "
    "dark;--bg:#f4f6f8;--card:#fff;--ink:#17202a;--dim:#5a6673;--line:#dde3e9;--lane:#eef1f4;"
    "--good:#00795a;--bad:#b84a00;--p0:#6b7783;--p1:#0072b2;--p2:#e69f00;--p3:#009e73;--p4:#d55e00;--p5:#"
    "cc79a7;"
    "--p6:#56b4e9;--p7:#8f8200}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#10151b;--card:#19212a;--ink:#e9eef3;--dim:#9eabb8;--line:#"
    "2c3742;"
    "--lane:#222c36;--good:#35c79b;--bad:#ff9a52;--p0:#a3afbb;--p1:#3d97d9;--p2:#e69f00;--p3:#1cba8d;--p4:#"
    "f0732a;"
    "--p5:#dc95bd;--p6:#93d5f8;--p7:#f0e442}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe "
    "UI',Roboto,"
    "'Helvetica Neue',Arial,sans-serif;-webkit-text-size-adjust:100%}\n"
    ".page{max-width:1240px;margin:0 auto;padding:28px 20px 56px}\n"
    "h1{font-size:clamp(1.7rem,4.5vw,2.6rem);line-height:1.12;margin:.1em 0 .3em;letter-spacing:-.02em;"
    "overflow-wrap:anywhere}\n"
    "h2{font-size:1.3rem;line-height:1.25;margin:2.2em 0 .7em;letter-spacing:-.01em;overflow-wrap:anywhere}\n"
    "p{margin:.4em 0}\n"
    ".kicker{color:var(--dim);text-transform:uppercase;letter-spacing:.09em;font-size:.78rem;font-weight:600}"
    "\n"
    ".lead{font-size:1.13rem;max-width:46em;overflow-wrap:anywhere}\n"
    ".facts{color:var(--dim);display:flex;flex-wrap:wrap;gap:.15em 1.4em;margin:.7em 0 "
    "0;padding:0;list-style:none;"
    "overflow-wrap:anywhere}\n"
    ".headline{font-size:1.3rem;font-weight:600;line-height:1.3;margin:1.5em 0 .7em;overflow-wrap:anywhere}\n"
    ".cards{display:grid;grid-template-columns:repeat(4,1fr);gap:16px}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:16px 18px}\n"
    ".card h3{margin:0;font-size:.86rem;font-weight:600;color:var(--dim)}\n"
    ".card .big{font-size:1.95rem;font-weight:700;line-height:1.2;letter-spacing:-.02em;margin:.15em 0 .1em;"
    "font-variant-numeric:tabular-nums}\n"
    ".card .big small{font-size:1rem;font-weight:600;color:var(--dim);letter-spacing:0}\n"
    ".change{font-weight:700;font-variant-numeric:tabular-nums}.card p{margin:0;overflow-wrap:anywhere}\n"
    ".up{color:var(--good)}.down{color:var(--bad)}.dim,small{color:var(--dim)}\n",

    ".legend{display:flex;flex-wrap:wrap;gap:6px 18px;margin:26px 0 0;padding:10px "
    "18px;background:var(--card);"
    "border:1px solid var(--line);border-radius:14px;z-index:3}\n"
    "@media(min-width:900px) and (min-height:600px){.legend{position:sticky;top:8px}}\n"
    ".legend "
    "label,.key{display:inline-flex;align-items:center;gap:.5em;font-weight:600;overflow-wrap:anywhere}\n"
    ".js .legend label{cursor:pointer}.legend input{margin:0;accent-color:var(--c)}html:not(.js) .legend "
    "input,.js .legend .d0 .swatch{"
    "display:none}\n"
    ".swatch{flex:none;width:14px;height:14px;border-radius:4px;background:var(--c)}\n"
    ".keys{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:.9rem;margin:.2em 0 "
    ".6em}.key{font-weight:400}\n"
    ".grid{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:16px}\n"
    "figure{margin:0 0 16px;background:var(--card);border:1px solid "
    "var(--line);border-radius:14px;padding:16px 18px 12px;"
    "min-width:0;break-inside:avoid}.grid figure{margin:0}\n"
    "figcaption{margin:0 0 .6em;overflow-wrap:anywhere}figcaption b{display:block}figcaption "
    "span{color:var(--dim);"
    "font-size:.9rem}\n"
    ".scroll{overflow-x:auto;-webkit-overflow-scrolling:touch}\n"
    "svg{display:block;width:100%;height:auto;overflow:visible;font:13px system-ui,-apple-system,'Segoe "
    "UI',Roboto,Arial,"
    "sans-serif}\n"
    "svg text{fill:var(--ink);font-variant-numeric:tabular-nums}svg .tick,svg .axis{fill:var(--dim)}svg "
    ".name,svg .value{"
    "font-weight:600}\n"
    ".mid{text-anchor:middle}.end{text-anchor:end}\n"
    "line.grid{stroke:var(--line);stroke-width:1}line.base{stroke:var(--dim);stroke-width:1}\n"
    ".line{fill:none;stroke:var(--c);stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}\n"
    ".area{fill:var(--c);opacity:.22}.bar{fill:var(--c)}.dot{fill:var(--c);stroke:var(--card);stroke-width:1."
    "5}\n"
    ".bar+.whisker,.bar~.whisker{stroke:var(--ink);stroke-width:1.5}.whisker{stroke:var(--c);stroke-width:2."
    "5}\n"
    ".point{fill:var(--c);fill-opacity:.62}.bound{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:5 4}\n"
    ".fit{stroke:var(--ink);stroke-width:2;stroke-dasharray:7 4}\n"
    ".d1.line{stroke-dasharray:7 5}.d2.line{stroke-dasharray:2 5}.d3.line{stroke-dasharray:10 4 2 4}\n"
    ".d1.dot,.d2.dot,.d3.dot{fill:var(--card);stroke:var(--c);stroke-width:2.5}.d1.point,.d2.point,.d3.point{"
    "fill:none;"
    "stroke:var(--c);stroke-width:1.5}.d1 .swatch,.d2 .swatch,.d3 .swatch{background:none;border:3px solid "
    "var(--c)}\n"
    ".good{fill:var(--p3)}.bad{fill:var(--p4)}.even{fill:var(--p0)}.weak{opacity:.45}\n"
    ".lane{fill:var(--lane)}.bars rect{stroke:var(--card);stroke-width:.6}.x{opacity:.55}\n"
    ".g0{fill:var(--p1);--c:var(--p1)}.g1{fill:var(--p2);--c:var(--p2)}.g2{fill:var(--p3);--c:var(--p3)}"
    ".g3{fill:var(--p5);--c:var(--p5)}\n"
    ".h1,.h2,.h3,.h4,.h5{fill:var(--p1)}.h1{fill-opacity:.2}.h2{fill-opacity:.38}.h3{fill-opacity:.56}"
    ".h4{fill-opacity:.76}\n"
    ".s0{--c:var(--p0)}.s1{--c:var(--p1)}.s2{--c:var(--p2)}.s3{--c:var(--p3)}.s4{--c:var(--p4)}.s5{--c:var(--"
    "p5)}"
    ".s6{--c:var(--p6)}.s7{--c:var(--p7)}\n"
    ".off{opacity:.13}.line.off,.point.off,.area.off,.dot.off,.whisker.off{display:none}\n",

    "table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:7px 8px;text-align:right;white-space:nowrap;border-bottom:1px solid "
    "var(--line);vertical-align:"
    "baseline}\n"
    "thead th{color:var(--dim);font-weight:600;font-size:.91em;vertical-align:bottom}thead "
    "small{display:block;"
    "font-weight:400}\n"
    "tbody "
    "tr:last-child>*{border-bottom:0}th:first-child{text-align:left;position:sticky;left:0;background:var(--"
    "card)}\n"
    "tbody th{font-weight:600}tbody th .swatch{display:inline-block;margin-right:.55em;vertical-align:-1px}\n"
    "tbody th "
    "span.n{display:inline-block;max-width:15em;overflow:hidden;text-overflow:ellipsis;vertical-align:bottom}"
    "\n"
    "td.best{font-weight:700}td small{font-weight:400}td "
    "sup{display:inline-block;width:1.7em;text-align:left;font-weight:600;line-height:0}"
    "th "
    "sup{display:inline-block;width:1.7em;height:0;line-height:0}table+table{margin-top:1.2em}td.t{color:var("
    "--dim)}\n"
    "ul.notes{padding-left:1.2em;color:var(--dim);font-size:.93rem;overflow-wrap:anywhere}ul.notes "
    "li{margin:.25em 0}\n"
    "dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.3em "
    "1.4em;font-size:.93rem;margin:0}\n"
    "dt{font-weight:600;max-width:16em;overflow-wrap:anywhere}dd{margin:0;color:var(--dim);overflow-wrap:"
    "anywhere}\n"
    ".tip{position:fixed;z-index:9;pointer-events:none;background:var(--ink);color:var(--bg);border-radius:"
    "9px;"
    "padding:7px 11px;font-size:.84rem;line-height:1.4;max-width:300px;white-space:pre-line;"
    "font-variant-numeric:tabular-nums}.tip[hidden]{display:none}.cross{stroke:var(--dim);stroke-dasharray:2 "
    "3}\n"
    "@media(max-width:900px){.cards{grid-template-columns:repeat(2,1fr)}.grid{grid-template-columns:minmax(0,"
    "1fr)}}\n"
    "@media(max-width:620px){.page{padding:18px 12px 40px}.card{padding:12px 13px}.card "
    ".big{font-size:1.5rem}"
    ".cards,.grid{gap:10px}figure{padding:12px 12px 8px;border-radius:12px}svg{font-size:17px}svg "
    ".name{font-size:14px}.scroll svg{min-width:820px}"
    "dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin-bottom:.5em}th,td{padding:6px 8px}"
    "tbody th span.n{max-width:8em}}\n"
    "@media "
    "print{:root{--bg:#fff;--card:#fff;--ink:#000;--dim:#444;--line:#ccc;--lane:#f0f0f0;--good:#00795a;"
    "--bad:#b84a00;--p0:#6b7783;--p1:#0072b2;--p2:#e69f00;--p3:#009e73;--p4:#d55e00;--p5:#cc79a7;--p6:#"
    "56b4e9;--p7:#8f8200}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}body{font-size:11pt}.page{padding:0;max-"
    "width:none}"
    ".legend{position:static}.js .legend input{display:none}.js .legend .d0 "
    ".swatch{display:block}.scroll{overflow:visible}table{font-size:7.5pt}thead "
    "th{white-space:normal}th,td{padding:3px 3px}"
    ".cards{grid-template-columns:repeat(4,1fr)}.grid{grid-template-columns:repeat(2,minmax(0,1fr))}.card "
    ".big{font-size:1.3rem}"
    "svg{font-size:15px}svg .name{font-size:14px}h2{break-after:avoid}.cards,.legend{break-inside:avoid}}\n",
    NULL,
};

static const char *const script[] = {
    "(function(){'use strict';var d=document;d.documentElement.classList.add('js');\n"
    "d.querySelectorAll('input[data-k]').forEach(function(box){box.addEventListener('change',function(){\n"
    "d.querySelectorAll('.k'+box.dataset.k).forEach(function(e){e.classList.toggle('off',!box.checked)})})});"
    "\n"
    "var tip=d.createElement('div');tip.className='tip';tip.hidden=true;d.body.appendChild(tip);\n"
    "function show(e,text){tip.textContent=text;tip.hidden=false;var r=tip.getBoundingClientRect();\n"
    "tip.style.left=Math.max(4,Math.min(e.clientX+14,innerWidth-r.width-6))+'px';\n"
    "tip.style.top=Math.max(4,Math.min(e.clientY+16,innerHeight-r.height-6))+'px'}\n"
    "function num(v){var a=Math.abs(v);return "
    "a>=1e6||(a>0&&a<1e-3)?v.toExponential(2):String(+v.toPrecision(a>=1000?4:3))}\n"
    "function dur(s){return s>=86400?num(s/86400)+' d':s>=3600?num(s/3600)+' h':s>=60?num(s/60)+' "
    "min':s>=1?num(s)+' s':\n"
    "num(s*1000)+' ms'}\n"
    "function put(v,u){return u==='t'?dur(v):num(v)+(u?' '+u:'')}\n"
    "function list(t){return t.split(' ').map(Number)}\n"
    "function at(x,px){var f=(px-x[0])/(x[1]-x[0]);return "
    "x[4]?x[2]*Math.pow(x[3]/x[2],f):x[2]+f*(x[3]-x[2])}\n"
    "d.querySelectorAll('svg[data-x]').forEach(function(svg){var "
    "x=list(svg.dataset.x),unit=svg.dataset.u,cross=null;\n"
    "var "
    "box=svg.viewBox.baseVal,lines=[].map.call(svg.querySelectorAll('polyline[data-n]'),function(p){return{e:"
    "p,\n"
    "y:list(p.dataset.y),p:p.getAttribute('points').trim().split(' ').map(function(q){return "
    "q.split(',').map(Number)})}});\n"
    "function read(p,px){var a=0,b=p.length-1;if(px<p[0][0]-4||px>p[b][0]+4)return null;\n"
    "while(b-a>1){var m=(a+b)>>1;if(p[m][0]<=px)a=m;else b=m}\n"
    "var w=p[b][0]-p[a][0],f=w>0?Math.max(0,Math.min(1,(px-p[a][0])/w)):1;return "
    "p[a][1]+f*(p[b][1]-p[a][1])}\n"
    "function leave(){tip.hidden=true;if(cross){cross.remove();cross=null}}\n"
    "svg.addEventListener('pointerleave',leave);svg.addEventListener('pointermove',function(e){\n"
    "var r=svg.getBoundingClientRect(),px=(e.clientX-r.left)/r.width*box.width,out=[];\n"
    "var bar=e.target;if(bar.tagName==='rect'&&/^g\\d/.test(bar.getAttribute('class'))){\n"
    "var from=+bar.getAttribute('x'),to=from+ +bar.getAttribute('width'),k=bar.getAttribute('class');\n"
    "show(e,(bar.dataset.j?'job '+bar.dataset.j:'several short jobs')+', "
    "'+['training','inference','simulation','data'][+k[1]]\n"
    "+'\\n'+put(at(x,from),'')+' to '+put(at(x,to),unit)+(/ x$/.test(k)?'\\ncut short':''));return}\n"
    "if(!lines.length||px<x[0]||px>x[1]){leave();return}\n"
    "lines.forEach(function(l){if(l.e.classList.contains('off'))return;var y=read(l.p,px);if(y!==null)\n"
    "out.push(l.e.dataset.n+'  '+put(at(l.y,y),l.e.dataset.u))});\n"
    "if(!cross){cross=d.createElementNS(svg.namespaceURI,'line');cross.setAttribute('class','cross');svg."
    "appendChild(cross)}\n"
    "cross.setAttribute('x1',px);cross.setAttribute('x2',px);cross.setAttribute('y1',6);\n"
    "cross.setAttribute('y2',box.height-48);\n"
    "show(e,put(at(x,px),unit)+'\\n'+out.join('\\n'))})})})();\n",
    NULL,
};

static void put_parts(struct adl_text *text, const char *const *parts)
{
    for (; *parts; parts++)
        adl_text_put(text, *parts);
}

void adl_page_open(struct adl_text *text, const char *name, const char *what)
{
    adl_text_put(text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                       "content=\"width=device-width,initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n<title>");
    adl_html_put(text, name);
    adl_text_put(text, " \u2013 ");
    adl_html_put(text, what);
    adl_text_put(text, "</title>\n<style>\n");
    put_parts(text, style);
    adl_text_put(text, "</style>\n</head>\n<body>\n<div class=\"page\">\n");
}

void adl_page_close(struct adl_text *text)
{
    adl_text_put(text, "</div>\n<script>\n");
    put_parts(text, script);
    adl_text_put(text, "</script>\n</body>\n</html>\n");
}

void adl_page_put_caption(struct adl_text *text, const char *title, const char *about)
{
    adl_text_put(text, "<figcaption><b>");
    adl_html_put(text, title);
    adl_text_put(text, "</b><span>");
    adl_html_put(text, about);
    adl_text_put(text, "</span></figcaption>\n");
}
