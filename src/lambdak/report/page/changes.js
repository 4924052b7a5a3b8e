// The search for small changes of a row that reach a goal: of each column alone, then of pairs. Steps of it are yielded.

class Changes {
  static PROMISING = 6; // columns that are tried in pairs
  static CELLS = 5; // of each of them

  constructor({ model, bounds }, goal, row, open) {
    Object.assign(this, { model, bounds, goal, row, open });
    const needed = model.families.filter(({ outputs }) => outputs.some(({ position }) => goal.outputs.includes(position)));
    this.families = needed.map((family) => ({ family, bases: model.weights.map((_, m) => model.matrix(family, m, row)) }));
    this.here = this.margin([]);
    this.tried = new Map(); // of each column, [cell, margin]
  }

  // ---- the margin of rows with other cells ------------------------------------------------------------------------

  margin(moves) {
    const { model } = this, scores = [];
    const slots = moves.flatMap(([i, cell]) => this.replaced(model.columns[i], this.row[i], cell));
    for (const { family, bases } of this.families) {
      const spectra = bases.map((base, m) => Eigen.values(model.add(base.slice(), family.block, m, slots), model.dim));
      for (const { position, index, start } of family.outputs) scores[position] = start + model.mean(spectra.map((values) => values[index]));
    }
    return this.goal.margin(scores) - this.goal.room;
  }

  // Design columns that take one cell out of the row and put another in.
  replaced(column, from, to) {
    return [...this.model.slots(column, from).map(([id, weight]) => [id, -weight]), ...this.model.slots(column, to)];
  }

  cost(moves) {
    return moves.reduce((sum, [i, cell]) => sum + Changes.distance(this.model.columns[i], this.row[i], cell), 0);
  }

  // In spreads of the column; another level is one.
  static distance(column, from, to) {
    return column.kind === "category" ? Number(from !== to) : Math.abs(to - from) / Changes.spread(column);
  }

  // The deviation of a line, the middle half of the knots of a curve, as in lambdak.optimize.
  static spread({ kind, knots, scale, low, high }) {
    if (kind === "linear") return scale || 1;
    const at = (share) => {
      const place = share * (knots.length - 1), j = Math.min(Math.floor(place), knots.length - 2);
      return knots.length < 2 ? 0 : knots[j] + (place - j) * (knots[j + 1] - knots[j]);
    };
    return at(3 / 4) - at(1 / 4) || high - low || 1;
  }

  // ---- one column -------------------------------------------------------------------------------------------------

  // Of every open column: its smallest change that reaches the goal, if there is one, or whether it is proven that none does.
  *singles() {
    const found = new Map();
    for (const i of this.open) {
      if (this.row[i] === null) found.set(i, { missing: true });
      else if (this.hopeless(i)) found.set(i, { proven: true });
      else found.set(i, { move: yield* this.single(i) });
    }
    return found;
  }

  // Whether the proven bound of the column excludes that it reaches the goal.
  hopeless(i) {
    const { kind, strength, clamp, low, high } = this.model.columns[i], cell = this.row[i];
    const covered = kind === "category" || clamp || (low <= cell && cell <= high);
    return covered && this.here + this.goal.reach * strength + this.goal.room < 0;
  }

  *single(i) {
    const category = this.model.columns[i].kind === "category";
    return yield* category ? this.level(i) : this.number(i);
  }

  *level(i) {
    const { own } = this.model.columns[i];
    const best = { margin: -Infinity };
    for (const cell of own) {
      if (cell === this.row[i]) continue;
      const margin = this.tryCell(i, cell);
      if (margin > best.margin) Object.assign(best, { cell, margin });
      yield;
    }
    return best.margin >= 0 ? best.cell : undefined;
  }

  // Outwards from the row, first up, then down as far as may be closer.
  *number(i) {
    const start = this.row[i], nodes = this.nodes(i);
    const up = yield* this.walk(i, nodes.filter((x) => x > start), Infinity);
    const down = yield* this.walk(i, nodes.filter((x) => x < start).reverse(), up === undefined ? Infinity : up - start);
    return down === undefined || up - start <= start - down ? up : down;
  }

  nodes(i) {
    const column = this.model.columns[i], found = this.bounds.nodes(column, column.low, column.high, CONSTANTS.search_nodes);
    return column.whole ? [...new Set(found.map(Math.round))] : found;
  }

  // The first value on the way that reaches the goal, found exactly between the last node that does not and the first that does.
  *walk(i, nodes, most) {
    let last = this.row[i];
    for (const x of nodes) {
      if (Math.abs(last - this.row[i]) >= most) return undefined;
      const margin = this.tryCell(i, x);
      yield;
      if (margin >= 0) return yield* this.crossing(i, last, x, (cell) => this.margin([[i, cell]]));
      last = x;
    }
    return undefined;
  }

  tryCell(i, cell) {
    const margin = this.margin([[i, cell]]);
    if (!this.tried.has(i)) this.tried.set(i, []);
    this.tried.get(i).push([cell, margin]);
    return margin;
  }

  // Between a value that does not reach the goal and one that does, by false position and bisection in turn.
  *crossing(i, outside, inside, margin) {
    const column = this.model.columns[i], unit = Changes.unit(column, 5);
    let low = margin(outside), high = margin(inside), a = outside, b = inside;
    if (low >= 0) return outside;
    for (let turn = 0; Math.abs(b - a) > unit && turn < 60; turn++) {
      const share = turn % 2 ? 1 / 2 : Math.min(Math.max(low / (low - high), 1 / 16), 15 / 16);
      const x = a + share * (b - a), own = margin(x);
      if (own >= 0) [b, high] = [x, own];
      else [a, low] = [x, own];
      yield;
    }
    return this.tidy(column, outside, b, inside, margin);
  }

  // The value with few digits, away from where the goal is not reached.
  tidy(column, outside, x, inside, margin) {
    for (const unit of column.whole ? [1] : [4, 5].map((digits) => Changes.unit(column, digits))) {
      const near = Changes.multiple(x, unit, Math.sign(inside - outside));
      if (Math.abs(near - outside) <= Math.abs(inside - outside) && margin(near) >= 0) return near;
    }
    return column.whole ? inside : x;
  }

  // The digit that is this many places behind the first one of the range.
  static unit({ low, high }, digits) {
    return 10 ** (Math.floor(Math.log10(high - low || 1)) - digits);
  }

  // The next multiple of a unit in a direction, as the closest number to its decimal form.
  static multiple(x, unit, direction) {
    const count = x / unit, whole = direction > 0 ? Math.ceil(count) : Math.floor(count);
    return unit < 1 ? Number((whole * unit).toFixed(Math.min(Math.round(-Math.log10(unit)), 100))) : whole * unit;
  }

  // ---- pairs ------------------------------------------------------------------------------------------------------

  // The cheapest change found of two columns, as [[i, cell], [j, cell]].
  *pair() {
    const promising = yield* this.promising();
    const best = { cost: Infinity, moves: null };
    for (const [place, i] of promising.entries()) {
      for (const j of promising.slice(0, place)) {
        const moves = yield* this.both(i, j);
        if (moves && this.cost(moves) < best.cost) Object.assign(best, { moves, cost: this.cost(moves) });
      }
    }
    return best.moves;
  }

  // The columns that come closest to the goal alone, of those with the largest proven effect.
  *promising() {
    const strongest = this.open.filter((i) => this.row[i] !== null)
      .sort((i, j) => this.model.columns[j].strength - this.model.columns[i].strength).slice(0, 2 * Changes.PROMISING);
    for (const i of strongest) if (!this.tried.has(i)) yield* this.single(i);
    const closest = (i) => (this.tried.get(i) ?? []).reduce((most, [, margin]) => Math.max(most, margin), -Infinity);
    return strongest.filter((i) => this.tried.has(i)).sort((i, j) => closest(j) - closest(i)).slice(0, Changes.PROMISING);
  }

  *both(i, j) {
    const best = { margin: -Infinity };
    for (const own of this.foremost(i)) {
      for (const other of this.foremost(j)) {
        const moves = [[i, own], [j, other]], margin = this.margin(moves);
        if (margin > best.margin) Object.assign(best, { margin, moves });
        yield;
      }
    }
    return best.margin >= 0 ? yield* this.shrunk(best.moves) : null;
  }

  foremost(i) {
    return [...this.tried.get(i)].sort((a, b) => b[1] - a[1]).slice(0, Changes.CELLS).map(([cell]) => cell);
  }

  // Each of two moves taken back as far as the goal allows, in both orders; the cheaper result.
  *shrunk([first, second]) {
    const one = yield* this.takenBack(...(yield* this.takenBack(first, second)).reverse());
    const two = yield* this.takenBack(...(yield* this.takenBack(second, first)).reverse());
    return this.cost(one) <= this.cost(two) ? one : two;
  }

  *takenBack([i, cell], other) {
    if (this.model.columns[i].kind === "category") return [[i, cell], other];
    const margin = (x) => this.margin([[i, x], other]);
    return [[i, yield* this.crossing(i, this.row[i], cell, margin)], other];
  }
}
