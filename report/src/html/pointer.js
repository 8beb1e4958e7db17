// Shows the values under the pointer in each chart.
for (const figure of document.querySelectorAll("figure.chart")) {
  const data = JSON.parse(figure.dataset.chart);
  const svg = figure.querySelector("svg");
  const make = (name, attributes) => {
    const element = document.createElementNS(svg.namespaceURI, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    element.style.display = "none";
    return svg.appendChild(element);
  };
  const cross = make("line", { class: "cross", y1: data.top, y2: data.bottom });
  const dots = data.lines.map((line) => make("circle", { class: "dot " + line.tone, r: 3.5 }));
  const tip = figure.appendChild(document.createElement("div"));
  tip.className = "tip";
  tip.hidden = true;

  const place = (x) => {
    const share = (x - data.x.left) / (data.x.right - data.x.left);
    const value = data.x.low + share * (data.x.high - data.x.low);
    if (data.x.kind === "time") return value.toFixed(value < 100 ? 2 : 1) + " " + data.x.unit;
    return "p" + Number((100 * (1 - 10 ** -value)).toFixed(4));
  };
  const nearest = (points, x) =>
    points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best), points[0]);
  const hide = () => {
    tip.hidden = true;
    for (const mark of [cross, ...dots]) mark.style.display = "none";
  };

  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const view = svg.viewBox.baseVal;
    const pointer = ((event.clientX - box.left) / box.width) * view.width;
    if (pointer < data.x.left - 6 || pointer > data.x.right + 6) return hide();
    const found = data.lines.map((line) => nearest(line.points, pointer));
    const shown = found.filter(Boolean);
    if (!shown.length) return hide();
    const x = nearest(shown, pointer)[0];

    cross.setAttribute("x1", x);
    cross.setAttribute("x2", x);
    cross.style.display = "";
    const head = document.createElement("b");
    head.textContent = place(x);
    tip.replaceChildren(head);
    found.forEach((point, index) => {
      dots[index].style.display = point ? "" : "none";
      if (!point) return;
      dots[index].setAttribute("cx", point[0]);
      dots[index].setAttribute("cy", point[1]);
      const row = document.createElement("span");
      row.className = data.lines[index].tone;
      row.textContent = data.lines[index].label + " " + point[2].toLocaleString("en") + " " + data.unit;
      head.after(row);
    });
    tip.hidden = false;
    const left = svg.offsetLeft || box.left - figure.getBoundingClientRect().left;
    const at = left + (x / view.width) * box.width;
    const toLeft = x > (data.x.left + data.x.right) / 2;
    tip.style.left = toLeft ? "" : at + 12 + "px";
    tip.style.right = toLeft ? figure.clientWidth - at + 12 + "px" : "";
  });
}

// Paper has no way to open what is closed; the long table of the charts stays so.
addEventListener("beforeprint", () => {
  for (const closed of document.querySelectorAll("details:not([open], .series)")) closed.open = true;
});
