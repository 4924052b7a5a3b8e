// What the numbers mean, in sentences.

class Words {
  constructor(payload, model) {
    Object.assign(this, { payload, model });
    this.about = payload.about;
    this.target = payload.about.target || "the target";
    this.span = [Infinity, -Infinity];
  }

  // The big line on top, and the score below it.
  prediction(scores) {
    const seen = this.model.predictions(scores);
    Dom.byId("prediction-title").textContent = this.title();
    Dom.byId("prediction").textContent = this.headline(seen);
    Dom.byId("score").textContent = this.scoreLine(scores);
  }

  title() {
    if (this.about.classes.length) return "Most probable class";
    const middle = this.about.levels.length > 1 ? ` (${this.model.outputs[this.model.outputs.length >> 1].name})` : "";
    return (this.about.target ? `Predicted ${this.about.target}` : "Prediction") + middle;
  }

  headline(seen) {
    if (this.about.classes.length) {
      const chances = this.chances(seen);
      const top = chances.indexOf(Math.max(...chances));
      return `${this.about.classes[top]} (${Dom.percent(chances[top])})`;
    }
    return Dom.number(seen[seen.length >> 1], 6);
  }

  // Probabilities of the classes: two of them, several, or several in order.
  chances(seen) {
    if (this.model.link === "softmax") return seen;
    const below = this.about.loss === "ordinal" ? [...seen, 1] : [1 - seen[0], 1];
    return below.map((share, i) => Math.max(share - (i ? below[i - 1] : 0), 0));
  }

  scoreLine(scores) {
    const { link } = this.model;
    if (link === "identity") return this.fanLine(scores);
    const list = scores.map((score) => Dom.number(score)).join(", ");
    if (link === "log") return `The score is ${list}; the prediction is its exponential.`;
    if (link === "softmax") return `Scores of the classes: ${list}.`;
    return scores.length > 1 ? `Scores (log-odds of being at or below each class): ${list}.` : `The score is ${list}: log-odds of class ${this.about.classes[1]}.`;
  }

  fanLine(scores) {
    const { levels } = this.about;
    if (scores.length < 2) return "";
    const share = Dom.percent(levels.at(-1) - levels[0]);
    return `With a chance of ${share} it lies between ${Dom.number(scores[0])} and ${Dom.number(scores.at(-1))}, says the model.`;
  }

  // The chart below the prediction: a fan of quantiles or bars of probabilities.
  outputs(scores) {
    const element = Dom.byId("outputs-chart");
    const seen = this.model.predictions(scores);
    if (this.about.classes.length) {
      const chances = this.chances(seen);
      Charts.bars(element, this.about.classes, chances, chances.map(Dom.percent), "probability", { range: [0, 1] });
    } else if (seen.length > 1) {
      this.span = [Math.min(this.span[0], seen[0]), Math.max(this.span[1], seen.at(-1))];
      const room = 0.05 * (this.span[1] - this.span[0]) || 1;
      Charts.fan(element, this.model.outputs.map(({ name }) => name), seen, this.target, [this.span[0] - room, this.span[1] + room]);
    }
  }

  influences(point) {
    const base =
      `For a number: how the ${this.unit()} changes when it rises by a tenth of its training range from here; ` +
      `with no room above, when it falls, the sign turned. ` +
      `For a level, or a missing value: the ${this.unit()} here minus that with the average level, or the median.`;
    const repeated = point.filter((member) => member.repeated).length;
    return repeated
      ? base + ` Here the eigenvalue of ${repeated} of ${point.length} members is (nearly) repeated: no single slope exists, so proven bounds on it are told instead.`
      : base;
  }

  // One bar: the change, and the slope at this very place.
  influence({ change, slope }) {
    return Dom.signed(change) + (slope ? `; slope here ${Dom.range(slope)} per unit` : "");
  }

  gap({ gap, repeated }, output) {
    const place = `The score is read from eigenvalue ${output.index + 1} of ${this.model.dim}.`;
    if (!Number.isFinite(gap)) return `${place} There is no other one.`;
    return `${place} Its distance to the nearest other one (the gap) is ${Dom.number(gap)}${repeated ? ": it is (nearly) repeated" : ""}.`;
  }

  whatIf(column, { from, to, output }, range) {
    const where = column.kind === "category" ? "at any of its levels" : `anywhere between ${Dom.number(from, 12)} and ${Dom.number(to, 12)}`;
    return `With ${Dom.short(column.name, 60)} ${where}, and all else as it is, ${this.seen(output)} stays within ${Dom.ends(range)}. This is proven, not sampled.`;
  }

  seen(place) {
    const { name } = this.model.outputs[place];
    if (this.model.link === "logit" || this.model.link === "softmax") return `the probability of ${name}`;
    return this.model.outputs.length > 1 ? name : "the prediction";
  }

  // What influences and bounds are in units of.
  unit() {
    return this.model.link === "identity" ? "prediction" : "score";
  }

  // What is said of a column's bound: one that is not clamped goes on beyond the range that training has seen.
  most({ strength, kind, clamp }) {
    const where = kind === "category" || clamp ? "" : " within the training range";
    const owner = (this.model.outputs.length > 1 ? "any " : "the ") + this.unit();
    return `can move ${owner} by at most ${Dom.number(strength, 4)}${where}`;
  }

  example({ row, target }) {
    return target === undefined ? `row ${row} of the data` : `row ${row} (actual value ${target})`;
  }

  effects(output) {
    const seen = this.model.link === "softmax" ? `the score of ${this.model.outputs[output].name}` : this.seen(output);
    const few = this.model.columns.length > Controls.MOST ? `; ${Controls.MOST} of them are drawn` : "";
    return (
      `${seen[0].toUpperCase()}${seen.slice(1)} along each column, all others as in the row above; the dot is the row itself. ` +
      `The shaded band is proven: from the dot, this column alone cannot leave it, whatever the others are. Columns that can do most come first${few}.`
    );
  }
}
