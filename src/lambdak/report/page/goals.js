// What is to be reached, as a margin in units of the raw score: where it exceeds what rounding can do, Python agrees.

class Goal {
  // With one output, the margin rises with its raw score (side 1) or falls with it (−1).
  constructor(words, outputs, margin, side, room = 0) {
    Object.assign(this, { words, outputs, margin, side, room: CONSTANTS.rounding + room });
  }

  reached(scores) {
    return this.margin(scores) >= this.room;
  }

  // How far one column can move the margin at most, for each unit that it can move a raw score.
  get reach() {
    return this.outputs.length > 1 ? 2 : 1;
  }
}

class Goals {
  constructor(model, words, typical) {
    Object.assign(this, { model, words, typical: model.scores(typical) });
    this.everything = [...model.outputs.keys()];
  }

  // A class of this position; with −1 any but that of the scores.
  ofClass(wanted, scores) {
    const { classes } = this.words.about, now = this.model.decided(scores);
    const margin = wanted < 0 ? (own) => -this.lead(own, now) : (own) => this.lead(own, wanted);
    const aim = classes.length === 2 && wanted < 0 ? `${classes[1 - now]}` : wanted < 0 ? `another class than ${classes[now]}` : classes[wanted];
    return new Goal(`the class to be ${Dom.short(aim, 60)}`, this.everything, margin, Math.sign(margin([1]) - margin([0])));
  }

  // By how much a class is ahead of what would be decided instead.
  lead(scores, c) {
    if (this.words.about.ordered) return Math.min(scores[c] ?? Infinity, -(scores[c - 1] ?? -Infinity));
    const { low, high, link } = this.model, only = link !== "logit" ? -1 : low > 0.5 ? 1 : high <= 0.5 ? 0 : -1;
    if (only >= 0) return c === only ? 1 : -1; // the range of probabilities allows for one class only
    if (link !== "softmax") return c ? scores[0] : -scores[0];
    return scores[c] - Math.max(...scores.filter((_, other) => other !== c));
  }

  // The prediction of an output on the other side of a number, or null if it is that number.
  ofNumber(output, target, scores) {
    const limit = this.raw(target), distance = limit - scores[output];
    const room = this.model.link === "log" ? 2 * CONSTANTS.link_rounding : 0;
    if (Math.abs(distance) <= CONSTANTS.rounding + room) return null;
    const side = Math.sign(distance), words = `${this.words.seen(output)} to be at ${side > 0 ? "least" : "most"} ${Dom.number(target, 6)}`;
    return new Goal(words, [output], (own) => side * (own[output] - limit), side, room);
  }

  // The raw score of a prediction; infinite where it is outside of the range.
  raw(target) {
    if (target < this.model.low || target > this.model.high) return Math.sign(target - this.model.low) * Infinity;
    return this.model.link === "log" ? Math.log(Math.max(target, 0)) : target;
  }

  ofTypicalRow(output) {
    return this.model.single(this.typical[output]);
  }
}
