// What the numbers mean, in sentences.

class Words {
  constructor(payload, model) {
    Object.assign(this, { payload, model });
    this.about = payload.about;
    this.target = payload.about.target || "the target";
    this.unit_ = payload.about.unit ? ` ${payload.about.unit}` : "";
  }

  // ---- the model as a whole -----------------------------------------------------------------------------------

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
    if (this.about.classes.length) {
      const chosen = this.model.decided(scores);
      return `${this.about.classes[chosen]} (${Dom.percent(this.model.chances(scores)[chosen])})`;
    }
    const seen = this.model.predictions(scores);
    return this.amount(seen[seen.length >> 1]);
  }

  // A number that is predicted, with its unit.
  amount(x, digits = 5) {
    return Dom.number(x, digits) + this.unit_;
  }

  // What people see of an output: a probability in per cent, or a number.
  shown(x) {
    return this.about.classes.length ? Dom.percent(x) : Dom.number(x, 4);
  }

  // The prediction of one output, from the raw scores of all.
  seenOf(scores, output) {
    return this.model.predictions(scores)[output];
  }

  // What an output is called: a class by its name.
  output(position) {
    const { classes, ordered } = this.about;
    if (!classes.length) return this.model.outputs[position].name;
    return ordered ? `${classes[position]} or below` : classes[this.model.link === "softmax" ? position : 1];
  }

  // Where predictions end, if a range was requested of them.
  range() {
    const ends = [["below", this.model.low], ["above", this.model.high]].filter(([, end]) => Number.isFinite(end));
    return ends.length ? `predictions ${ends.map(([side, end]) => `${side} ${Dom.number(end)}`).join(" or ")} become that` : "";
  }

  scoreLine(scores) {
    const { link } = this.model;
    const list = scores.map((score) => Dom.number(score)).join(", "), range = this.range();
    if (link === "identity") return range && `The raw score is ${list}; ${range}.`;
    if (link === "log") return `The raw score is ${list}; the prediction is its exponential${range && `, and ${range}`}.`;
    if (link === "softmax") return `Raw scores of the classes: ${list}.`;
    return scores.length > 1 ? `Raw scores (log-odds of being at or below each class): ${list}.` : `The raw score is ${list}: log-odds of class ${this.about.classes[this.about.ordered ? 0 : 1]}.`;
  }

  fanLine(scores) {
    const { quantile_levels: levels } = this.about;
    if (scores.length < 2 || !levels.length) return "";
    const share = Dom.percent(levels.at(-1) - levels[0]), seen = this.model.predictions(scores);
    return `According to the model, it lies between ${Dom.number(seen[0])} and ${Dom.number(seen.at(-1))} with a probability of ${share}.`;
  }

  // What is to be expected of predictions, if rows that the fit did not see say so.
  usual() {
    const { usual, where } = this.payload.performance ?? {};
    if (!usual) return "";
    if (usual.within !== null) return `Usually within ± ${this.amount(usual.within, 3)}: 8 of 10 times ${where}.`;
    if (usual.share === null || usual.share === undefined) return "";
    return this.about.classes.length ? `Of all predictions, ${Dom.percent(usual.share)} are right ${where}.` : `Such intervals hold ${Dom.percent(usual.share)} of the targets ${where}.`;
  }

  // ---- what moves it ----------------------------------------------------------------------------------------------

  influences(point) {
    const base =
      `For a number: how the ${this.unit()}${CONSTANTS.unit} changes when it rises by a tenth of its usual range from here; ` +
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
    const where = column.kind === "category" ? "at any of its levels" : column.choices ? `at ${column.choices.map((x) => Dom.cell(x, 12)).join(" or ")}` : `anywhere between ${Dom.cell(from, 12)} and ${Dom.cell(to, 12)}`;
    return `With ${Dom.short(column.name, 60)} ${where}, and everything else unchanged, ${this.seen(output)} stays between ${this.about.classes.length ? Dom.percents(range) : Dom.ends(range)}. This is proven, not sampled.`;
  }

  seen(output) {
    if (this.about.classes.length) return `the probability of ${this.output(output)}`;
    return this.model.outputs.length > 1 ? this.output(output) : "the prediction";
  }

  // What influences and bounds are in units of.
  unit() {
    return this.model.link === "identity" ? "prediction" : "raw score";
  }

  // The bound of a column; that of one that is not clamped is about the training range, beyond which it continues.
  // Those of classes are in units that say nothing to most people: the importance has them.
  most({ strength, kind, clamp }) {
    const where = kind === "category" || clamp ? "" : ` ${CONSTANTS.in_range}`, several = this.model.outputs.length > 1 ? "any" : "the";
    if (this.about.classes.length) return "";
    return this.model.link === "log" ? `can multiply or divide ${several} prediction by at most ${Dom.atMost(Math.exp(strength))}${where}` : `can move ${several} prediction by at most ${Dom.atMost(strength)}${where}`;
  }

  example({ name, target }) {
    return target === undefined ? name : `${name} (actual ${typeof target === "number" ? this.amount(target, 6) : target})`;
  }

  // ---- shares ---------------------------------------------------------------------------------------------------

  // One step of a waterfall: a sum, or a factor where raw scores are logarithms.
  step(x) {
    return this.model.link === "log" ? `× ${Dom.number(Math.exp(x), 4)}` : Dom.signed(x, 3);
  }

  shares(output) {
    const seen = this.seen(output), from = "From the baseline (medians, and the average of the levels) to this row: ";
    if (this.model.link === "identity") return `${from}what each column adds to ${seen}.`;
    if (this.model.link === "log") return `${from}what each column multiplies ${seen} by.`;
    return `${from}what each column adds to the log-odds of ${this.output(output)}; above zero makes it more probable.`;
  }

  cell(column, cell) {
    if (column.kind === "category") return cell < 0 ? "average" : column.levels[cell];
    return cell === null ? "missing" : Dom.cell(cell, 4);
  }

  effects(output) {
    const seen = this.seen(output);
    return (
      `${seen[0].toUpperCase()}${seen.slice(1)} along each column, with all others as in the row above; the dot is the row itself. ` +
      `The shaded band is proven: from the dot, this column alone cannot leave it, whatever the others are. ` +
      `Grey bars at the bottom: where the data lie. Where there are none, nothing was learned.`
    );
  }
}
