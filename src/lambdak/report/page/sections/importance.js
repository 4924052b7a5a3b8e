// Importance: what columns do on average, and what they can do at most.

class ImportanceSection extends Section {
  static id = "importance";
  static link = "Importance";
  static markup = '<div class="chart" id="importance-chart"></div>';

  resize() {
    const { first, mean_effects: mean, importance: texts } = this.app.payload, { columns } = this.app.model;
    const side = (title, values, words) => ({ title: title + texts.unit, values, texts: words });
    const sides = [side("proven: at most", first.map((i) => columns[i].strength), texts.proven)];
    if (mean) sides.unshift(side("mean effect", first.map((i) => mean[i]), texts.mean));
    Charts.paired(Dom.byId("importance-chart"), first.map((i) => columns[i].name), sides);
  }
}

Section.add(ImportanceSection);
