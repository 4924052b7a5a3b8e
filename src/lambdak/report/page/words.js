// What the numbers mean, in sentences.

class Words {
  constructor(payload, model) {
    Object.assign(this, { payload, model });
    this.about = payload.about;
    this.target = payload.about.target || "the target";
  }

  // ---- the model as a whole -----------------------------------------------------------------------------------

  header() {
    const { columns } = this.model, { data } = this.payload;
    const kinds = columns.length === 1 ? "1 column" : `${columns.length} columns`;
    const rows = data ? ` Data shown here: ${data.rows} rows.` : "";
    return `A ${this.about.estimator} that reads ${kinds} of a table. It runs inside this page, in your browser; nothing is sent anywhere.${rows}`;
  }

  footer() {
    return `Written by lambdak ${this.about.version}. All numbers are computed in double precision.`;
  }

  // How predictions come about, for whoever wants to see the mathematics.
  construction() {
    const { members, dim } = this.model;
    const mean = members === 1 ? "" : `the mean of ${members} members, each `;
    return `The model is ${mean}one eigenvalue of a symmetric ${dim} × ${dim} matrix (loss: ${this.about.loss}).`;
  }

  // ---- the prediction -------------------------------------------------------------------------------------------

  title() {
    if (this.about.classes.length) return this.about.ordered ? "Median class" : "Most probable class";
    const middle = this.about.quantile_levels.length > 1 ? ` (${this.model.outputs[this.model.outputs.length >> 1].name})` : "";
    return (this.about.target ? `Predicted ${this.about.target}` : "Prediction") + middle;
  }

  headline(scores) {
    const seen = this.model.predictions(scores);
    if (this.about.classes.length) {
      const chances = this.chances(seen);
      const chosen = this.chosen(scores, chances);
      return `${this.about.classes[chosen]} (${Dom.percent(chances[chosen])})`;
    }
    return Dom.number(seen[seen.length >> 1], 6);
  }

  // The predicted class: the most probable one, or of classes in order the first j with P(y ≤ j) ≥ 1/2.
  chosen(scores, chances) {
    if (this.about.ordered) return [...scores, Infinity].findIndex((score) => score >= 0);
    return chances.indexOf(Math.max(...chances));
  }

  // Probabilities of the classes: two of them, several, or several in order.
  chances(seen) {
    if (this.model.link === "softmax") return seen;
    const below = this.about.ordered ? [...seen, 1] : [1 - seen[0], 1];
    return below.map((share, i) => Math.max(share - (i ? below[i - 1] : 0), 0));
  }

  scoreLine(scores) {
    const { link } = this.model;
    if (link === "identity") return this.fanLine(scores);
    const list = scores.map((score) => Dom.number(score)).join(", ");
    if (link === "log") return `The raw score is ${list}; the prediction is its exponential.`;
    if (link === "softmax") return `Raw scores of the classes: ${list}.`;
    return scores.length > 1 ? `Raw scores (log-odds of being at or below each class): ${list}.` : `The raw score is ${list}: log-odds of class ${this.about.classes[this.about.ordered ? 0 : 1]}.`;
  }

  fanLine(scores) {
    const { quantile_levels: levels } = this.about;
    if (scores.length < 2) return "";
    const share = Dom.percent(levels.at(-1) - levels[0]);
    return `According to the model, it lies between ${Dom.number(scores[0])} and ${Dom.number(scores.at(-1))} with a probability of ${share}.`;
  }

  // ---- what moves it ----------------------------------------------------------------------------------------------

  influences(point) {
    const base =
      `For a number: how the ${this.unit()}${CONSTANTS.unit} changes when it rises by a tenth of its training range from here; ` +
      `with no room above, when it falls, with the sign reversed. ` +
      `For a level, or a missing value: the ${this.unit()} here minus the one with the average level, or the median.`;
    const repeated = point.filter((member) => member.repeated).length;
    return repeated
      ? base + ` At this row a slope is not a single number, and a proven range is given instead (the eigenvalue is (nearly) repeated in ${repeated} of ${point.length} members).`
      : base;
  }

  // One bar: the change, and the slope at this very row.
  influence({ change, slope }) {
    return Dom.signed(change) + (slope ? `; slope here ${Dom.range(slope)} per unit` : "");
  }

  gap({ gap, repeated }, output) {
    const read = `The ${this.unit()} is read from eigenvalue ${output.index + 1} of ${this.model.dim}.`;
    if (!Number.isFinite(gap)) return `${read} There is no other one.`;
    return `${read} Its distance to the nearest other one (the gap) is ${Dom.number(gap)}${repeated ? ": it is (nearly) repeated" : ""}.`;
  }

  whatIf(column, { from, to, output }, range) {
    const where = column.kind === "category" ? "at any of its levels" : `anywhere between ${Dom.number(from, 12)} and ${Dom.number(to, 12)}`;
    return `With ${Dom.short(column.name, 60)} ${where}, and everything else unchanged, ${this.seen(output)} stays within ${Dom.ends(range)}. This is proven, not sampled.`;
  }

  seen(output) {
    const { name } = this.model.outputs[output];
    if (this.model.link === "logit" || this.model.link === "softmax") return `the probability of ${name}`;
    return this.model.outputs.length > 1 ? name : "the prediction";
  }

  // What influences and bounds are in units of.
  unit() {
    return this.model.link === "identity" ? "prediction" : "raw score";
  }

  // The bound of a column; that of one that is not clamped is about the training range, beyond which it continues.
  most({ strength, kind, clamp }) {
    const where = kind === "category" || clamp ? "" : ` ${CONSTANTS.in_range}`;
    const owner = (this.model.outputs.length > 1 ? "any " : "the ") + this.unit();
    return `can move ${owner} by at most ${Dom.number(strength, 4)}${where}`;
  }

  example({ row, target }) {
    return target === undefined ? `row ${row} of the data` : `row ${row} (actual value ${target})`;
  }

  effects(output) {
    const seen = this.model.link === "softmax" ? `the raw score of ${this.model.outputs[output].name}` : this.seen(output);
    const few = this.model.columns.length > CONSTANTS.most_controls ? `; ${CONSTANTS.most_controls} of them are drawn` : "";
    return (
      `${seen[0].toUpperCase()}${seen.slice(1)} along each column, with all others as in the row above; the dot is the row itself. ` +
      `The shaded band is proven: from the dot, this column alone cannot leave it, whatever the others are. Columns with the largest proven effect come first${few}.`
    );
  }
}
