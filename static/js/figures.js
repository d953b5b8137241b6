// Draws the figures that {% figure %} puts into a page as data, each when it comes near the screen;
// plotly.js (1.4 MB) is fetched for the first. Colours are custom properties of the page: a figure
// names its series by number (trace.meta.series). A click follows trace.meta.links. The legend's
// choice is kept in the address (hide=). Nothing leaves the page.
(function () {
  "use strict";

  const PLOTLY_URL = document.currentScript.dataset.plotly;
  const drawn = new Map(); // figure element -> index of the panel shown
  let loading = null; // promise of Plotly

  function plotly() {
    loading ||= new Promise(function (resolve, reject) {
      const script = document.createElement("script");
      script.src = PLOTLY_URL;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => reject(new Error("could not load " + PLOTLY_URL));
      document.head.append(script);
    });
    return loading;
  }

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue("--" + name).trim();
    return {
      fg: read("fg"),
      muted: read("muted"),
      grid: read("grid"),
      surface: read("surface"),
      series: [1, 2, 3, 4, 5, 6, 7].map((n) => read("series-" + n)),
    };
  }

  const panels = (element) => JSON.parse(document.getElementById(element.dataset.figure).textContent);

  function themedTrace(trace, theme, width) {
    const copy = structuredClone(trace);
    const series = copy.meta && copy.meta.series;
    if (series) {
      copy.marker ||= {};
      const pick = (n) => theme.series[(n - 1) % theme.series.length];
      copy.marker.color = Array.isArray(series) ? series.map(pick) : pick(series);
      if (copy.marker.pattern) {
        copy.marker.pattern.bgcolor = theme.surface;
        copy.marker.pattern.fillmode = "replace";
        copy.marker.pattern.fgcolor = copy.marker.color;
      }
    }
    if (series && copy.line) copy.line.color = theme.series[(series - 1) % theme.series.length];
    if (copy.meta && copy.meta.role === "interval") copy.marker.color = theme.fg;
    // Repeats lie on bars and intervals: rings, so that those below are seen.
    if (copy.meta && copy.meta.role === "repeats") {
      copy.marker.color = theme.surface;
      copy.marker.line = { color: theme.fg, width: 1.5 };
      copy.zorder = 3;
    }
    for (const error of [copy.error_x, copy.error_y]) {
      if (!error) continue;
      error.color = copy.type === "bar" || !copy.marker ? theme.fg : copy.marker.color;
      // JSON has no "not a number", and Plotly takes null for an interval of no width.
      for (const side of ["array", "arrayminus"]) {
        if (Array.isArray(error[side])) error[side] = error[side].map((end) => (end === null ? NaN : end));
      }
    }
    if (copy.type === "bar") copy.outsidetextfont = { color: theme.fg };
    if (copy.colorbar) {
      copy.colorbar.tickfont = { color: theme.muted, size: 11 };
      if (copy.colorbar.title) copy.colorbar.title.font = { color: theme.muted, size: 12 };
    }
    // Numbers that would run into each other say less than none; hover and touch still tell them.
    if (copy.meta && copy.meta.role === "cell labels" && width) {
      const columns = new Set(copy.x).size;
      if ((width - 150) / columns < 40) copy.visible = false;
    }
    return copy;
  }

  // The traces in the page's colours. Intervals lie on bars of every colour and on the page: each
  // gets an edge of the page's colour, drawn below it, so that it reads on all of them.
  function themedData(data, theme, width) {
    const traces = data.map((trace) => themedTrace(trace, theme, width));
    const edges = traces.filter((trace) => trace.meta && trace.meta.role === "interval").map(function (trace) {
      const edge = structuredClone(trace);
      trace.zorder = 2;
      edge.zorder = 1;
      edge.hoverinfo = "skip";
      delete edge.hovertemplate;
      edge.marker.color = edge.error_x.color = theme.surface;
      edge.marker.size += 3;
      edge.error_x.thickness += 3;
      edge.error_x.width += 2;
      return edge;
    });
    return traces.concat(edges); // behind the others: a click tells a trace by its number
  }

  // What is longer than a line, such as a configuration with all its options, goes on in the next one.
  function inParts(word, most) {
    const signs = word.match(/&#?\w+;|./gsu) || [];
    const parts = [];
    while (signs.length > most) {
      let end = most;
      while (end > most / 2 && !/[-_/.,:]/.test(signs[end - 1])) end -= 1;
      parts.push(signs.splice(0, end > most / 2 ? end : most).join(""));
    }
    return parts.concat(signs.join(""));
  }

  function inLines(text, most) {
    const lines = [""];
    for (const word of text.split(" ")) {
      const [first, ...others] = inParts(word, most);
      const line = lines[lines.length - 1];
      if (line && (line + " " + first).length > most) lines.push(first);
      else lines[lines.length - 1] = line ? line + " " + first : first;
      lines.push(...others);
    }
    return lines;
  }

  // A title that is wider than the figure is broken into lines, and the figure grows by them.
  function wrapTitle(layout, width) {
    if (!layout.title || !layout.title.text || !width) return;
    const lines = inLines(layout.title.text, Math.max(16, Math.floor(width / 7.5)));
    if (lines.length === 1) return;
    const extra = 18 * (lines.length - 1);
    layout.title.text = lines.join("<br>");
    layout.margin = Object.assign({}, layout.margin, { t: (layout.margin.t || 44) + extra });
    layout.height += extra;
  }

  // Words below an axis that are wider than its plot are broken into lines, which the figure grows
  // by; on a narrow figure the legend beside its title needs lines of its own, too.
  function makeRoom(layout, width, data) {
    if (!width) return;
    const isNarrow = width < 480;
    const grow = (side, by) => {
      layout.margin = Object.assign({}, layout.margin, { [side]: ((layout.margin || {})[side] || 48) + by });
      layout.height += by;
    };
    const title = layout.xaxis && layout.xaxis.title;
    if (title && title.text) {
      // It is centred below the plot, which lies between the labels of the rows and what stands
      // beside them; on a narrow figure that goes above the bars.
      const beside = isNarrow ? 0 : (layout.margin || {}).r || 0;
      const most = Math.max(16, Math.floor((width - labelsPx(layout, data) - beside) / (isNarrow ? 7 : 6.5)));
      const given = title.text.split("<br>");
      const lines = given.flatMap((line) => inLines(line, most));
      title.text = lines.join("<br>");
      if (lines.length > given.length) grow("b", 16 * (lines.length - given.length));
    }
    if (!isNarrow) return;
    if (layout.showlegend && layout.legend) {
      layout.legend = Object.assign({}, layout.legend, { x: 0, xanchor: "left" });
      if (layout.legend.yanchor === "bottom" && layout.legend.yref !== "container") grow("t", 28);
      else layout.height += 20 * data.length;
    }
    putAbove(layout, grow, data);
    if (layout.yaxis && layout.yaxis.ticktext) layout.yaxis.tickfont = { size: 10 };
  }

  // The numbers of bars with intervals stand in a column at the right of the plot.
  function addValues(layout, data) {
    const bars = data.find((trace) => trace.type === "bar" && trace.textposition === "none");
    if (!bars) return;
    const width = 12 + Math.round(7.5 * Math.max(...bars.text.map((text) => text.replace(/<\/?b>/g, "").length)));
    layout.margin = Object.assign({}, layout.margin, { r: width });
    const notes = bars.y.map((row, at) => ({
      name: "value", xref: "paper", x: 1, xanchor: "right", xshift: width - 4, y: row, text: bars.text[at], showarrow: false,
    }));
    layout.annotations = (layout.annotations || []).concat(notes.filter((_, at) => bars.x[at] !== null));
  }

  // Numbers beside bars would leave a narrow figure no room for the bars: they go above each.
  function putAbove(layout, grow, data) {
    const values = (layout.annotations || []).filter((note) => note.name === "value");
    if (!values.length) return;
    const rows = data[0].y.length;
    grow("t", 4);
    layout.height += 12 * rows;
    layout.margin.r = 16;
    layout.bargap = 0.55;
    const row = (layout.height - layout.margin.t - layout.margin.b - 20) / rows;
    const above = Math.round((row * (1 - layout.bargap)) / 2 + 8);
    for (const note of values) Object.assign(note, { x: 0, xanchor: "left", xshift: -2, yshift: above });
  }

  // Small charts, one a test, stand in as many columns as fit (figures/panels.py).
  function reflow(layout, width, data) {
    const px = data[0] && data[0].meta && data[0].meta.panel_px;
    const columns = Math.max(1, Math.min(3, Math.floor((width || 900) / 300)));
    if (!px) return;
    const panels = layout.annotations;
    const lines = Math.ceil(panels.length / columns);
    const titles = panels.map((title) => inLines(title.text, Math.floor((width || 900) / columns / 6.8)));
    const above = 4 + 16 * Math.max(...titles.map((one) => one.length));
    const high = px - 20 + above;
    const margin = layout.margin || {};
    layout.height = (margin.t || 44) + (margin.b || 48) + lines * high;
    panels.forEach(function (title, at) {
      const number = at ? at + 1 : "";
      const left = (at % columns) / columns;
      const top = 1 - Math.floor(at / columns) / lines;
      layout["xaxis" + number].domain = [left + 0.28 / columns, left + 0.97 / columns];
      layout["yaxis" + number].domain = [top - (high - 52) / high / lines, top - above / high / lines];
      Object.assign(title, { x: left, y: top, align: "left", text: titles[at].join("<br>") });
    });
  }

  // What a panel is of stands above it, on lines as wide as the figure.
  function wrapPanels(layout, width) {
    for (const note of layout.annotations || []) {
      if (note.name === "panel" && width) note.text = inLines(note.text, Math.floor((width - 60) / 6.8)).join("<br>");
    }
  }

  // How wide the labels of rows are, about: those of an axis of numbers are short.
  function labelsPx(layout, data) {
    const axis = layout.yaxis || {};
    if (axis.type !== "category") return 48;
    const texts = axis.ticktext || data.flatMap((trace) => trace.y || []);
    const lines = texts.flatMap((text) => String(text).split("<br>"));
    return 24 + 6 * Math.max(0, ...lines.map((line) => line.trim().length));
  }

  function themedLayout(layout, theme, width, data) {
    const copy = structuredClone(layout);
    addValues(copy, data);
    wrapTitle(copy, width);
    makeRoom(copy, width, data);
    reflow(copy, width, data);
    wrapPanels(copy, width);
    const family = getComputedStyle(document.body).fontFamily;
    copy.paper_bgcolor = theme.surface; // downloads too: light text on a transparent page would vanish
    copy.plot_bgcolor = "rgba(0,0,0,0)";
    copy.autosize = true;
    copy.width = width;
    if (copy.title) Object.assign(copy.title, { x: 0, xanchor: "left", xref: "container", font: { size: 14 } });
    copy.font = Object.assign({ family: family, size: 12 }, copy.font, { color: theme.fg });
    copy.hoverlabel = { bgcolor: theme.fg, bordercolor: theme.fg, font: { color: theme.surface, family: family } };
    copy.modebar = { bgcolor: "rgba(0,0,0,0)", color: theme.muted, activecolor: theme.fg };
    copy.dragmode = copy.dragmode || (matchMedia("(pointer: coarse)").matches ? false : "zoom");
    for (const key of Object.keys(copy)) {
      if (!/^[xy]axis\d*$/.test(key)) continue;
      const axis = copy[key];
      axis.gridcolor = theme.grid;
      axis.zerolinecolor = theme.grid;
      axis.linecolor = theme.grid;
      axis.tickfont = Object.assign({}, axis.tickfont, { color: key[0] === "x" ? theme.muted : theme.fg });
      if (axis.title) axis.title.font = { size: 12, color: theme.muted };
    }
    return copy;
  }

  function download(format, element) {
    const panel = panels(element)[drawn.get(element) || 0];
    const name = fileName(element, panel);
    return window.Plotly.downloadImage(element.querySelector(".plot-canvas"), { format: format, filename: name, scale: format === "png" ? 2 : 1 });
  }

  // What the picture shows: a folder of downloads tells them apart.
  function fileName(element, panel) {
    const title = panel.layout.title && panel.layout.title.text;
    const name = (title || [element.id, panel.label].filter(Boolean).join("-")).toLowerCase();
    return "fsbench-" + name.replace(/&[a-z]+;/g, " ").replace(/[^a-z0-9_.]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 120);
  }

  function config(element) {
    return {
      displaylogo: false,
      showSendToCloud: false,
      plotlyServerURL: "",
      displayModeBar: zooms(element) ? "hover" : false,
      modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d"]],
    };
  }

  // Whether any axis can be drawn apart: a drag does it too, a double click takes it back.
  function zooms(element) {
    const layout = panels(element)[drawn.get(element) || 0].layout;
    return [layout.xaxis, layout.yaxis].some((axis) => axis && !axis.fixedrange);
  }

  // The picture of a page: which of its lines the legend puts out is part of the address.
  function keep(element) {
    if (element.id !== "picture") return;
    const canvas = element.querySelector(".plot-canvas");
    const plain = document.createElement("textarea");
    // A contender has a line in each of several panels: its name is kept once.
    const hidden = new Set(canvas.data.filter((trace) => trace.visible === "legendonly").map(function (trace) {
      plain.innerHTML = trace.name;
      return plain.value;
    }));
    const address = new URL(location.href);
    address.searchParams.delete("hide");
    for (const name of hidden) address.searchParams.append("hide", name);
    history.replaceState(history.state, "", address);
    const form = document.getElementById("filters");
    if (!form) return;
    for (const field of form.querySelectorAll("[name=hide]")) field.remove();
    for (const name of hidden) {
      const field = Object.assign(document.createElement("input"), { type: "hidden", name: "hide", value: name });
      form.append(field);
    }
  }

  // A figure that htmx exchanged before it was drawn is drawn no more: its data went with it.
  function draw(element) {
    if (!element.isConnected) return Promise.resolve();
    const all = panels(element);
    const index = Math.min(drawn.get(element) || 0, all.length - 1);
    const panel = all[index];
    const theme = colours();
    const canvas = element.querySelector(".plot-canvas");
    drawn.set(element, index);
    return plotly()
      .then((Plotly) =>
        element.isConnected &&
        Plotly.react(
          canvas,
          themedData(panel.data, theme, canvas.clientWidth),
          themedLayout(panel.layout, theme, canvas.clientWidth || undefined, panel.data),
          config(element)
        )
      )
      .then(function () {
        if (!element.isConnected) return;
        if (!element.dataset.drawn) {
          canvas.on("plotly_click", (event) => follow(element, event));
          canvas.on("plotly_restyle", () => keep(element));
        }
        element.dataset.drawn = "yes";
        for (const button of element.querySelectorAll("[data-figure-download]")) button.hidden = false;
      })
      .catch(function (error) {
        if (!element.isConnected) return;
        // The numbers are in the caption: show them instead of an empty frame.
        const caption = element.querySelector("figcaption");
        caption.classList.remove("visually-hidden");
        element.dataset.drawn = "failed";
        console.error("fsbench figures:", error);
      });
  }

  // Where the point that was clicked leads: only ever to another page of this site.
  function linkOf(panel, { curveNumber, pointNumber }) {
    const link = [pointNumber].flat().reduce((links, number) => links?.[number], panel.data[curveNumber].meta?.links);
    return link && /^\/(?!\/)/.test(link) ? link : null;
  }

  function follow(element, event) {
    const panel = panels(element)[drawn.get(element) || 0];
    const link = event.points.map((point) => linkOf(panel, point)).find(Boolean);
    if (link) window.location.assign(link);
  }

  function redrawAll() {
    for (const element of drawn.keys()) if (element.isConnected && element.dataset.drawn === "yes") draw(element);
  }

  const resizer = new ResizeObserver(function (entries) {
    for (const entry of entries) {
      const element = entry.target.closest("figure[data-figure]");
      const width = Math.round(entry.contentRect.width);
      if (!element || element.dataset.drawn !== "yes" || !width) continue;
      if (element.dataset.width === String(width)) continue;
      element.dataset.width = String(width);
      draw(element);
    }
  });

  const seer = new IntersectionObserver(
    function (entries) {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seer.unobserve(entry.target);
        draw(entry.target);
        resizer.observe(entry.target.querySelector(".plot-canvas"));
      }
    },
    { rootMargin: "300px" }
  );

  function adopt(root) {
    for (const element of root.querySelectorAll("figure[data-figure]:not([data-seen])")) {
      element.dataset.seen = "yes";
      const choice = element.querySelector("[data-figure-choice]");
      if (choice) {
        drawn.set(element, Number(choice.value));
        choice.addEventListener("change", function () {
          drawn.set(element, Number(choice.value));
          draw(element);
        });
      }
      for (const button of element.querySelectorAll("[data-figure-download]")) {
        button.addEventListener("click", () => download(button.dataset.figureDownload, element));
      }
      seer.observe(element);
    }
  }

  adopt(document);
  // Fragments that htmx swaps in, and parts that live.js puts, may hold figures too.
  document.addEventListener("htmx:afterSettle", () => adopt(document));
  document.addEventListener("live:put", () => adopt(document));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  new MutationObserver(redrawAll).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
})();
