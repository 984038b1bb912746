(() => {
  "use strict";
  const root = document.documentElement;
  const contents = document.getElementById("contents");
  if (contents && !matchMedia("(min-width: 1240px)").matches) contents.open = false;

  // --- the summary, shown by verdict -------------------------------------------------------------
  const chips = [...document.querySelectorAll(".chip")];
  const rows = [...document.querySelectorAll("#claims tr[data-verdict]")];
  const count = document.querySelector(".count");
  const show = (kind) => {
    for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.show === kind));
    let shown = 0;
    for (const row of rows) {
      row.hidden = kind !== "all" && row.dataset.verdict !== kind;
      shown += row.hidden ? 0 : 1;
    }
    for (const body of document.querySelectorAll("#claims tbody"))
      body.hidden = !body.querySelector("tr[data-verdict]:not([hidden])") && rows.length > 0;
    count.textContent = kind === "all" ? "" : `${shown} of ${rows.length} claims shown`;
  };
  for (const chip of chips)
    chip.addEventListener("click", () => {
      const all = chip.getAttribute("aria-pressed") === "true";
      show(all ? "all" : chip.dataset.show);
    });

  // --- a page for each paper -----------------------------------------------------------------------
  const papers = [...document.querySelectorAll("article.paper")];
  const overview = document.getElementById("overview");
  const turn = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const paper = target?.closest("article.paper") ?? null;
    for (const one of papers) one.hidden = one !== paper;
    overview.hidden = paper !== null;
    document.body.classList.toggle("one-paper", paper !== null);
    for (const link of document.querySelectorAll("nav a.paper"))
      link.parentElement.classList.toggle("open", link.hash === `#${(paper ?? overview).id}`);
    (target ?? overview).scrollIntoView({ behavior: "instant" });
  };
  if (papers.length > 1) {
    addEventListener("hashchange", turn);
    root.classList.add("paged");
    turn();
  }

  // --- where the reader is -----------------------------------------------------------------------
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const link = links.get(entry.target.id);
      if (entry.isIntersecting) link?.setAttribute("aria-current", "true");
      else link?.removeAttribute("aria-current");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const section of document.querySelectorAll("section[id]")) seen.observe(section);

  // --- figures -----------------------------------------------------------------------------------
  if (document.body.dataset.live !== "yes" || typeof Plotly === "undefined") return;
  root.classList.add("js");
  const night = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)");
  const small = matchMedia("(max-width: 500px)");
  const theme = () => (night.matches ? "dark" : "light");
  const make = (tag, kind, text) => {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const faint = (colour) => {
    const part = (i) => parseInt(colour.slice(i, i + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},0.18)`;
  };

  function painted(trace, hidden) {
    const colour = trace.meta[theme()];
    const copy = { ...trace, visible: !hidden.has(trace.name), line: { ...trace.line, color: colour } };
    if (trace.marker) copy.marker = { ...trace.marker, color: colour };
    if (trace.error_y) copy.error_y = { ...trace.error_y, color: colour };
    if (trace.fill) copy.fillcolor = faint(colour);
    return copy;
  }

  function arranged(panel) {
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const powers = (name) => {
      const ticks = panel.types[name] === "log" ? panel.layout.meta.logarithmic[name] : {};
      return ticks.dtick && small.matches ? { dtick: 2 * ticks.dtick } : ticks;
    };
    const axis = (name) => ({
      ...panel.layout[name], type: panel.types[name], uirevision: panel.types[name], ...powers(name),
      nticks: Math.max(2, Math.ceil((small.matches ? 0.5 : 1) * panel.layout[name].nticks)),
      gridcolor: colour("--grid"), linecolor: colour("--soft"), tickcolor: colour("--soft"), showline: true, ticks: "outside",
      range: panel.types[name] === "log" ? undefined : panel.layout[name].range ?? undefined,
      ticklen: 4, tickformat: panel.types[name] === "log" ? "" : panel.layout.meta.linear[name],
    });
    return {
      ...panel.layout, uirevision: "kept", xaxis: axis("xaxis"), yaxis: axis("yaxis"),
      dragmode: touch.matches ? false : "zoom",  // or a finger could not scroll past a plot
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: style.getPropertyValue("--sans"), size: 12, color: colour("--ink") },
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--rule"), font: { color: colour("--ink"), size: 12 }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink") },
    };
  }

  const settings = {
    responsive: true, displaylogo: false, displayModeBar: "hover", showSendToCloud: false, plotlyServerURL: "",
    modeBarButtons: [["toImage", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  class Shown {
    constructor(figure) {
      const said = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
      this.hidden = new Set();
      this.drawn = false;
      this.box = figure.querySelector(".live");
      this.legend = said.legend;
      this.panels = said.panels.map((panel) => ({
        ...panel, types: { xaxis: panel.layout.xaxis.type, yaxis: panel.layout.yaxis.type },
      }));
      const grid = make("div", "panels");
      grid.style.setProperty("--columns", this.panels.length === 4 ? 2 : Math.max(1, Math.min(3, this.panels.length)));
      for (const panel of this.panels) grid.append(this.frame(panel));
      if (this.legend.length > 1) this.box.append(this.explain());
      this.box.append(grid);
    }

    frame(panel) {
      const frame = make("div", "panel");
      const switches = make("div", "switches");
      if (!panel.layout.meta.empty) for (const name of panel.layout.meta.switches) switches.append(this.switch(panel, name));
      panel.div = make("div", "plot");
      panel.div.setAttribute("role", "group");
      panel.div.setAttribute("aria-label", `Plot: ${panel.layout.meta.title}`);
      frame.append(make("p", "panel-title", panel.layout.meta.title), switches, panel.div);
      return frame;
    }

    switch(panel, name) {
      const button = make("button");
      button.type = "button";
      const say = () => {
        const logarithmic = panel.types[`${name}axis`] === "log";
        button.textContent = `${name} ${logarithmic ? "log" : "linear"}`;
        button.setAttribute("aria-label", `${name} axis is ${logarithmic ? "logarithmic" : "linear"}: switch`);
      };
      button.addEventListener("click", () => {
        panel.types[`${name}axis`] = panel.types[`${name}axis`] === "log" ? "linear" : "log";
        say();
        this.paint(panel);
      });
      say();
      return button;
    }

    explain() {
      const legend = make("div", "legend");
      legend.setAttribute("role", "group");
      legend.setAttribute("aria-label", "Series: click to hide or show, double-click to show one alone");
      for (const entry of this.legend) {
        const button = make("button");
        button.type = "button";
        button.title = "Click to hide or show; double-click to show it alone";
        button.dataset.label = entry.label;
        button.append(this.glyph(entry), make("span", "", entry.label));
        button.addEventListener("click", () => {
          if (!this.hidden.delete(entry.label)) this.hidden.add(entry.label);
          this.update();
        });
        button.addEventListener("dblclick", () => {
          const others = this.legend.map((one) => one.label).filter((label) => label !== entry.label);
          const alone = others.every((label) => this.hidden.has(label));
          this.hidden = new Set(alone ? [] : others);
          this.update();
        });
        legend.append(button);
      }
      this.buttons = [...legend.children];
      this.update();
      return legend;
    }

    glyph(entry) {
      const element = (tag, values) => {
        const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
        for (const [name, value] of Object.entries(values)) made.setAttribute(name, value);
        return made;
      };
      const svg = element("svg", { viewBox: "-15 -6 30 12", "aria-hidden": "true" });
      const dashes = { solid: "", dash: "6 3", dot: "1.5 2.5", dashdot: "6 2 1.5 2", longdash: "10 3" };
      if (entry.dash !== null) svg.append(element("line", { x1: -15, x2: 15, y1: 0, y2: 0, "stroke-width": 2, "stroke-dasharray": dashes[entry.dash] }));
      if (entry.marker) svg.append(element("path", { d: entry.marker, "stroke-width": 0 }));
      svg.paint = () => { svg.setAttribute("stroke", entry[theme()]); svg.setAttribute("fill", entry[theme()]); };
      svg.paint();
      return svg;
    }

    update() {
      for (const button of this.buttons ?? []) {
        button.setAttribute("aria-pressed", String(!this.hidden.has(button.dataset.label)));
        button.querySelector("svg").paint();
      }
      if (this.drawn) this.panels.forEach((panel) => this.paint(panel));
    }

    paint(panel) {
      if (panel.layout.meta.empty) {
        if (!panel.div.firstChild) panel.div.append(make("div", "empty", "no data"));
        return;
      }
      Plotly.react(panel.div, panel.data.map((trace) => painted(trace, this.hidden)), arranged(panel), settings);
    }

    draw() {
      if (this.drawn) return;
      this.drawn = true;
      this.panels.forEach((panel) => this.paint(panel));
    }
  }

  const figures = new Map();
  for (const figure of document.querySelectorAll("figure")) figures.set(figure, new Shown(figure));
  // A page may hold a hundred plots: each is drawn when it comes near.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { figures.get(entry.target).draw(); near.unobserve(entry.target); }
  }, { rootMargin: "600px 0px" });
  for (const figure of figures.keys()) near.observe(figure);
  night.addEventListener("change", () => { for (const shown of figures.values()) shown.update(); });
})();
