// The timeline of a run: decoded from the page, drawn on a canvas, scrolled and zoomed.
(function () {
  "use strict";
  var MISSED = 4, DROPPED = 1, OUTCOMES = ["", ", dropped", ", failed", ", cut off"];
  var LANE = 17, STRIP = 4, GAP = 8, SIGNAL = 52, HEAD = 20, AXIS = 22;

  // LEB128 in base64, as html/timeline/data.rs writes it.
  function reader(text) {
    var bytes = atob(text), at = 0;
    function next() {
      var value = 0, scale = 1, byte;
      do {
        byte = bytes.charCodeAt(at++);
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte > 127);
      return value;
    }
    return {
      more: function () { return at < bytes.length; },
      byte: function () { return bytes.charCodeAt(at++); },
      next: next,
      signed: function () { var value = next(); return value % 2 ? -(value + 1) / 2 : value / 2; }
    };
  }

  // Times in seconds.
  function frames(text) {
    var from = reader(text), all = [], at = 0, number = -1, longest = 0;
    while (from.more()) {
      at += from.signed();
      number += from.signed() + 1;
      var flags = from.byte(), wait = from.next(), service = from.next(), has = from.next(), stages = [];
      for (var stage = 0; stage < 9; stage++) stages.push(has >> stage & 1 ? from.next() / 1e7 : null);
      longest = Math.max(longest, (wait + service) / 1e7);
      all.push({ number: number, released: at / 1e7, started: (at + wait) / 1e7, finished: (at + wait + service) / 1e7,
        response: (wait + service) / 1e7, wait: wait / 1e7, missed: (flags & MISSED) > 0, outcome: flags & 3, lane: flags >> 3, stages: stages });
    }
    all.longest = longest;
    return all;
  }

  function readings(text) {
    var from = reader(text), all = [], at = 0, value = 0;
    while (from.more()) {
      at += from.signed();
      value += from.signed();
      all.push([at / 1e6, value / 10]);
    }
    return all;
  }

  function short(x) {
    var size = Math.abs(x);
    return x.toFixed(size >= 9999.5 ? 0 : size >= 999.95 ? 1 : size >= 0.995 || x === 0 ? 2 : 3);
  }

  // The first place whose value is not below `value`.
  function search(count, of, value) {
    var low = 0, high = count;
    while (low < high) {
      var middle = low + high >> 1;
      if (of(middle) < value) low = middle + 1; else high = middle;
    }
    return low;
  }

  function Timeline(box) {
    var run = JSON.parse(box.querySelector("script").textContent);
    if (!run) return;
    var canvas = box.querySelector("canvas"), pen = canvas.getContext("2d"), range = box.querySelector(".range");
    var said = box.querySelector(".values"), tip = document.getElementById("tip");
    var tenants = run.tenants.map(function (tenant, number) {
      return { name: tenant.name, lanes: tenant.lanes, frames: frames(tenant.frames), busy: tenant.busy, number: number };
    });
    var kinds = [["mhz", "clock, MHz", 1], ["mw", "power, W", 1e-3]].map(function (kind) {
      var own = run.signals.filter(function (signal) { return signal.unit === kind[0]; });
      return { name: kind[1], scale: kind[2], unit: kind[1].split(", ")[1], signals: own.map(function (signal) {
        return { name: signal.name, readings: readings(signal.readings) };
      }) };
    }).filter(function (kind) { return kind.signals.length; });
    var whole = Math.max(run.length, 1e-6), view = { from: 0, to: whole };
    var chosen = null, row = 0, slow = -1, left = 0, right = 0, narrow = false, rows = [], bottom = 0;

    function x(at) { return left + (at - view.from) / (view.to - view.from) * (right - left); }
    function time(place) { return view.from + (place - left) / (right - left) * (view.to - view.from); }

    function show(from, to) {
      var length = Math.min(Math.max(to - from, 2e-6), whole);
      from = Math.min(Math.max(from, 0), whole - length);
      view = { from: from, to: from + length };
      draw();
    }
    function zoom(by, around) {
      var length = (view.to - view.from) * by, part = (around - view.from) / (view.to - view.from);
      show(around - part * length, around + (1 - part) * length);
    }
    function scroll(by) {
      var way = by * (view.to - view.from);
      show(view.from + way, view.to + way);
    }

    // Where each row is; the height follows from it.
    function lay() {
      narrow = canvas.clientWidth < 560;
      left = narrow ? 2 : 110;
      right = canvas.clientWidth - 6;
      var y = HEAD;
      rows = tenants.map(function (tenant) {
        if (narrow) y += 15;
        var each = tenant.lanes > 1 ? LANE - 3 : LANE;
        var at = { tenant: tenant, y: y, top: y + STRIP, each: each, bottom: y + STRIP + each * tenant.lanes };
        y = at.bottom + STRIP + GAP;
        return at;
      });
      kinds.forEach(function (kind) {
        if (narrow) y += 15;
        kind.top = y + 4;
        kind.bottom = y + SIGNAL;
        y += SIGNAL + GAP;
      });
      bottom = y;
      return y + AXIS;
    }

    function colours() {
      var style = getComputedStyle(box), of = function (name) { return style.getPropertyValue("--" + name).trim(); };
      return { ink: of("ink"), soft: of("soft"), line: of("line"), rule: of("rule"), bad: of("bad"), accent: of("accent"), paper: of("paper"), tint: of("tint"),
        tenant: function (number) { return of("t" + number % 8); } };
    }

    function block(colour, strength, from, to, y, height) {
      from = Math.max(from, left);
      to = Math.min(to, right);
      if (to < left || from > right) return;
      pen.globalAlpha = strength;
      pen.fillStyle = colour;
      pen.fillRect(from, y, Math.max(to - from, 0.5), height);
      pen.globalAlpha = 1;
    }

    function visible(all) {
      var first = search(all.length, function (n) { return all[n].released; }, view.from - all.longest);
      var last = search(all.length, function (n) { return all[n].released; }, view.to);
      return [first, last];
    }

    // As drawn: stages end to end, postprocessing at the end.
    function stages(frame) {
      var at = frame.started, spans = [];
      frame.stages.forEach(function (took, stage) {
        if (took === null) return;
        var from = Math.min(stage === 7 ? Math.max(at, frame.finished - took) : at, frame.finished);
        at = Math.min(from + took, frame.finished);
        spans.push([stage, from, at]);
      });
      return spans;
    }

    function isKept(at) {
      return !run.windows || run.windows.some(function (window) { return window[0] <= at && at <= window[1]; });
    }

    function drawBusy(row, ink, colour, from, to) {
      var height = row.bottom - row.top;
      row.tenant.busy.forEach(function (part) {
        var begins = Math.max(part[0], from), ends = Math.min(part[1], to);
        if (ends <= begins || ends < view.from || begins > view.to) return;
        var tall = part[2] > 0 ? Math.max(part[2] * height, 0.5) : 0;
        block(colour, 0.55, x(begins), x(ends) - (x(ends) - x(begins) > 4 ? 0.5 : 0), row.bottom - tall, tall);
        if (part[3]) block(ink.bad, 1, x(begins), Math.max(x(ends), x(begins) + 1), row.bottom + 1, 2);
      });
    }

    function drawFrames(row, ink, colour, first, last) {
      for (var n = first; n < last; n++) {
        var frame = row.tenant.frames[n], y = row.top + Math.min(frame.lane, row.tenant.lanes - 1) * row.each, tall = row.each - 1;
        if (frame.finished < view.from) continue;
        if (frame.wait > 0) block(colour, 0.8, x(frame.released), x(frame.started), row.y + 1, 2);
        if (frame.outcome !== DROPPED) block(colour, 0.16, x(frame.started), x(frame.finished), y, tall);
        stages(frame).forEach(function (span) {
          var strength = span[0] === 5 ? 1 : span[0] === 3 || span[0] === 6 ? 0.62 : span[0] === 4 ? 0 : 0.4;
          if (strength && x(span[2]) - x(span[1]) > 0.2) block(colour, strength, x(span[1]), x(span[2]), y, tall);
        });
        if (frame.missed) block(ink.bad, 1, x(frame.released), Math.max(x(frame.finished), x(frame.released) + 2), row.bottom + 1, 2);
        if (chosen && chosen.frame === frame) {
          pen.strokeStyle = ink.ink;
          pen.lineWidth = 1.2;
          pen.strokeRect(Math.max(x(frame.released), left) - 0.5, row.y - 1, Math.max(Math.min(x(frame.finished), right) - Math.max(x(frame.released), left), 1) + 1, row.bottom - row.y + STRIP);
        }
      }
    }

    function drawTenant(row, ink) {
      var colour = ink.tenant(row.tenant.number), seen = visible(row.tenant.frames);
      pen.fillStyle = row.tenant.number === rows[selected()].tenant.number ? ink.ink : ink.soft;
      name(row.tenant.name, row.y, row.top);
      row.detailed = seen[1] - seen[0] < (right - left) / 2;
      if (!row.detailed) return drawBusy(row, ink, colour, view.from, view.to);
      if (run.windows) {
        var at = view.from;
        run.windows.forEach(function (window) {
          if (window[1] < view.from || window[0] > view.to) return;
          if (window[0] > at) drawBusy(row, ink, colour, at, window[0]);
          at = Math.max(at, window[1]);
        });
        if (at < view.to) drawBusy(row, ink, colour, at, view.to);
      }
      drawFrames(row, ink, colour, seen[0], seen[1]);
    }

    function selected() { return Math.min(row, rows.length - 1); }

    function name(text, y, top) {
      var most = narrow ? 40 : 15;
      if (text.length > most) text = text.slice(0, most - 1) + "…";
      pen.textAlign = narrow ? "left" : "right";
      pen.fillText(text, narrow ? left : left - 8, narrow ? y - 3 : top + 12);
    }

    function drawKind(kind, ink) {
      var low = Infinity, high = -Infinity;
      var parts = kind.signals.map(function (signal) {
        var all = signal.readings, of = function (n) { return all[n][0]; };
        var first = Math.max(search(all.length, of, view.from) - 1, 0), last = Math.min(search(all.length, of, view.to) + 1, all.length);
        var part = all.slice(first, last);
        part.forEach(function (reading) { low = Math.min(low, reading[1]); high = Math.max(high, reading[1]); });
        return part;
      });
      if (low > high) return;
      pen.fillStyle = ink.soft;
      pen.textAlign = narrow ? "left" : "right";
      var place = narrow ? left : left - 8;
      pen.fillText(kind.name, place, narrow ? kind.top - 7 : kind.top + 8);
      place += narrow ? pen.measureText(kind.name).width + 10 : 0;
      kind.signals.forEach(function (signal, number) {
        var text = signal.name.length > 15 ? signal.name.slice(0, 14) + "…" : signal.name;
        var y = narrow ? kind.top - 7 : kind.top + 22 + 13 * number;
        pen.fillStyle = ink.tenant(number);
        pen.fillRect(narrow ? place : place - 7, y - 7, 7, 7);
        pen.fillStyle = ink.soft;
        pen.fillText(text, narrow ? place + 10 : place - 10, y);
        place += narrow ? pen.measureText(text).width + 20 : 0;
      });
      pen.save();
      pen.beginPath();
      pen.rect(left, kind.top - 3, right - left, kind.bottom - kind.top + 6);
      pen.clip();
      parts.forEach(function (part, number) {
        pen.strokeStyle = ink.tenant(number);
        pen.lineWidth = 1.5;
        pen.beginPath();
        part.forEach(function (reading, n) {
          var y = kind.bottom - (high > low ? (reading[1] - low) / (high - low) : 0.5) * (kind.bottom - kind.top);
          if (n) pen.lineTo(x(reading[0]), y); else pen.moveTo(x(reading[0]), y);
        });
        pen.stroke();
      });
      pen.restore();
      // What its highest and lowest place stand for.
      pen.textAlign = "right";
      var level = function (value, y) {
        var text = short(value * kind.scale), wide = pen.measureText(text).width;
        pen.globalAlpha = 0.8;
        pen.fillStyle = ink.paper;
        pen.fillRect(right - wide - 3, y - 10, wide + 3, 13);
        pen.globalAlpha = 1;
        pen.fillStyle = ink.soft;
        pen.fillText(text, right, y);
      };
      level(high, kind.top + (high > low ? 8 : 14));
      if (high > low) level(low, kind.bottom);
    }

    // A time with as many digits as the step between two needs.
    function seconds(at, step) { return at.toFixed(Math.min(Math.max(Math.ceil(-Math.log10(step) - 1e-9), 0), 7)); }

    function drawAxis(ink) {
      var rough = (view.to - view.from) / Math.max(Math.floor((right - left) / 90), 2), size = Math.pow(10, Math.floor(Math.log10(rough)));
      var step = [1, 2, 5, 10].map(function (n) { return n * size; }).filter(function (step) { return step >= rough; })[0] || size * 10;
      pen.lineWidth = 1;
      for (var n = Math.ceil(view.from / step); n * step <= view.to; n++) {
        var place = Math.round(x(n * step)) + 0.5;
        pen.strokeStyle = ink.rule;
        pen.beginPath();
        pen.moveTo(place, HEAD - 4);
        pen.lineTo(place, bottom);
        pen.stroke();
        pen.fillStyle = ink.soft;
        pen.textAlign = place > right - 30 ? "right" : place < left + 20 ? "left" : "center";
        pen.fillText(seconds(n * step, step) + " s", place, bottom + 15);
      }
    }

    // The whole run: where the view is in it, and where the slow frames are.
    function drawWhole(ink) {
      var at = function (time) { return left + time / whole * (right - left); };
      pen.fillStyle = ink.tint;
      pen.fillRect(left, 2, right - left, 10);
      pen.strokeStyle = ink.line;
      pen.lineWidth = 1;
      pen.strokeRect(left + 0.5, 2.5, right - left - 1, 9);
      pen.fillStyle = ink.bad;
      run.moments.forEach(function (moment) { pen.fillRect(at((moment.from + moment.to) / 2) - 1, 3, 2, 8); });
      pen.strokeStyle = ink.accent;
      pen.lineWidth = 2;
      pen.strokeRect(at(view.from), 1, Math.max(at(view.to) - at(view.from), 3), 12);
    }

    function draw() {
      var height = lay(), fine = window.devicePixelRatio || 1;
      if (!canvas.clientWidth) return;
      canvas.style.height = height + "px";
      if (canvas.width !== Math.round(canvas.clientWidth * fine) || canvas.height !== Math.round(height * fine)) {
        canvas.width = Math.round(canvas.clientWidth * fine);
        canvas.height = Math.round(height * fine);
      }
      pen.setTransform(fine, 0, 0, fine, 0, 0);
      pen.clearRect(0, 0, canvas.clientWidth, height);
      pen.font = "11px ui-sans-serif,system-ui,sans-serif";
      var ink = colours();
      drawAxis(ink);
      drawWhole(ink);
      rows.forEach(function (row) { drawTenant(row, ink); });
      kinds.forEach(function (kind) { drawKind(kind, ink); });
      var step = (view.to - view.from) / 100;
      range.textContent = seconds(view.from, step) + " s to " + seconds(view.to, step) + " s";
      canvas.dataset.from = view.from;
      canvas.dataset.to = view.to;
      canvas.dataset.left = left;
      canvas.dataset.right = right;
    }

    function ofFrame(tenant, frame) {
      var parts = ["wait " + short(frame.wait * 1e3)];
      frame.stages.forEach(function (took, stage) { if (took !== null) parts.push(run.stages[stage] + " " + short(took * 1e3)); });
      var how = frame.outcome ? OUTCOMES[frame.outcome] : frame.missed ? ", missed" : "";
      return tenant.name + ", frame " + frame.number + ": released at " + frame.released.toFixed(4) + " s, response " + short(frame.response * 1e3) + " ms" + how + "; in ms: " + parts.join(", ");
    }

    function frameAt(row, at, y) {
      var near = (view.to - view.from) / (right - left) * 3, seen = visible(row.tenant.frames), best = null;
      for (var n = seen[0]; n < seen[1]; n++) {
        var frame = row.tenant.frames[n], lane = Math.min(frame.lane, row.tenant.lanes - 1);
        var begins = y < row.top ? frame.released : frame.started;
        var off = Math.max(begins - at, at - frame.finished, 0);
        if (y >= row.top && y < row.bottom && Math.floor((y - row.top) / row.each) !== lane) continue;
        if (off <= near && (!best || off < best.off)) best = { off: off, frame: frame };
      }
      return best && best.frame;
    }

    function under(place, y) {
      var at = time(place);
      if (place < left || place > right) return null;
      for (var n = 0; n < rows.length; n++) {
        var row = rows[n];
        if (y < row.y - GAP / 2 || y > row.bottom + STRIP + GAP / 2) continue;
        var frame = row.detailed && frameAt(row, at, Math.min(Math.max(y, row.y), row.bottom - 0.5));
        if (frame) return { text: ofFrame(row.tenant, frame), frame: frame, row: n };
        if (row.detailed && isKept(at)) return null;
        var part = row.tenant.busy.filter(function (part) { return part[0] <= at && at < part[1]; })[0];
        return part && { text: row.tenant.name + ", " + short(part[0]) + " to " + short(part[1]) + " s: a frame in service for " + Math.round(part[2] * 100) + " % of the time, " + part[3] + " missed" };
      }
      for (n = 0; n < kinds.length; n++) {
        var kind = kinds[n];
        if (y < kind.top - 4 || y > kind.bottom + 4) continue;
        var all = kind.signals.map(function (signal) {
          var next = search(signal.readings.length, function (n) { return signal.readings[n][0]; }, at);
          var reading = signal.readings[Math.max(next - 1, 0)];
          return reading ? signal.name + " " + short(reading[1] * kind.scale) + " " + kind.unit : "";
        });
        return { text: at.toFixed(4) + " s: " + all.join(", ") };
      }
      return null;
    }

    function choose(number, frame) {
      row = number;
      chosen = { frame: frame };
      said.textContent = ofFrame(tenants[number], frame);
      var length = view.to - view.from;
      if (frame.released < view.from || frame.finished > view.to) show(frame.released - length / 2, frame.released + length / 2);
      else draw();
    }

    function step(by) {
      var all = tenants[selected()].frames, middle = (view.from + view.to) / 2;
      if (!all.length) return;
      var place = chosen ? all.indexOf(chosen.frame) : -1;
      place = place < 0 ? search(all.length, function (n) { return all[n].released; }, middle) : place + by;
      choose(selected(), all[Math.min(Math.max(place, 0), all.length - 1)]);
    }

    function jump(by) {
      var order = run.moments.slice().sort(function (a, b) { return a.from - b.from; });
      if (!order.length) return;
      slow = slow < 0 ? (by > 0 ? 0 : order.length - 1) : (slow + by + order.length) % order.length;
      var moment = order[slow], own = tenants[moment.tenant];
      show(moment.from, moment.to);
      own.frames.some(function (frame) {
        if (frame.number === moment.sequence) choose(moment.tenant, frame);
        return frame.number === moment.sequence;
      });
    }

    function choice(by) {
      row = (selected() + by + rows.length) % rows.length;
      chosen = null;
      said.textContent = "Tenant " + tenants[row].name;
      draw();
    }

    var middle = function () { return (view.from + view.to) / 2; };
    var does = {
      earlier: function () { scroll(-0.25); }, later: function () { scroll(0.25); },
      "in": function () { zoom(0.5, middle()); }, out: function () { zoom(2, middle()); },
      whole: function () { show(0, whole); }, previous: function () { jump(-1); }, next: function () { jump(1); }
    };
    var keys = { ArrowLeft: does.earlier, ArrowRight: does.later, "+": does["in"], "=": does["in"], "-": does.out, "0": does.whole,
      Home: function () { show(0, view.to - view.from); }, End: function () { show(whole - (view.to - view.from), whole); },
      n: does.next, p: does.previous, ArrowUp: function () { choice(-1); }, ArrowDown: function () { choice(1); },
      ",": function () { step(-1); }, ".": function () { step(1); } };

    box.querySelectorAll("button").forEach(function (button) { button.addEventListener("click", does[button.dataset["do"]]); });
    canvas.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    canvas.addEventListener("wheel", function (event) {
      var place = event.clientX - canvas.getBoundingClientRect().left;
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) scroll(event.deltaX / (right - left));
      else if (event.ctrlKey || document.activeElement === canvas) zoom(Math.pow(1.002, event.deltaY), time(place));
      else return;
      event.preventDefault();
    }, { passive: false });

    var held = null;
    canvas.addEventListener("pointerdown", function (event) {
      var place = event.clientX - canvas.getBoundingClientRect().left, y = event.clientY - canvas.getBoundingClientRect().top;
      if (y < HEAD - 5) {
        var length = view.to - view.from, at = (place - left) / (right - left) * whole;
        return show(at - length / 2, at + length / 2);
      }
      held = { place: place, from: view.from, to: view.to };
      canvas.setPointerCapture(event.pointerId);
      var found = under(place, y);
      if (found && found.frame) choose(found.row, found.frame);
    });
    canvas.addEventListener("pointermove", function (event) {
      var box = canvas.getBoundingClientRect(), place = event.clientX - box.left, y = event.clientY - box.top;
      if (held && event.buttons) {
        var way = (held.place - place) / (right - left) * (held.to - held.from);
        show(held.from + way, held.to + way);
      }
      var found = under(place, y);
      tip.hidden = !found;
      if (!found) return;
      tip.textContent = found.text;
      tip.style.left = Math.max(4, Math.min(event.clientX + 12, document.documentElement.clientWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = event.clientY + 16 + "px";
    });
    canvas.addEventListener("pointerup", function () { held = null; });
    canvas.addEventListener("pointercancel", function () { held = null; });
    canvas.addEventListener("pointerleave", function () { tip.hidden = true; });

    box.querySelector(".player").hidden = false;
    draw();
    window.addEventListener("resize", draw);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }

  document.querySelectorAll(".timeline").forEach(function (box) { Timeline(box); });
})();
