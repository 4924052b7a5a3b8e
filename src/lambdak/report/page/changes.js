// The search for small changes of a row that reach a goal: of each column alone, then of pairs. Steps of it are yielded.

class Changes {
  static PROMISING = 6; // columns that are tried in pairs
  static CELLS = 4; // of each of them
  static SHRUNK = 4; // pairs that are made as small as they can be
  static HALVINGS = 2; // of a piece in which a peak may hide

  constructor({ model, bounds }, goal, row, open) {
    Object.assign(this, { model, bounds, goal, row, open });
    const needed = model.families.filter(({ outputs }) => outputs.some(({ position }) => goal.outputs.includes(position)));
    this.families = needed.map((family) => ({ family, bases: model.weights.map((_, m) => model.matrix(family, m, row)) }));
    this.here = this.margin([]);
    this.doubt = 2 * goal.room + Math.max(...this.families.map(({ family, bases }) => bounds.rounding(family.block, bases)));
    this.tried = new Map(); // of each column, [cell, margin]
    this.doubtful = new Set(); // columns with values between those tried that may reach the goal
  }

  // ---- the margin of rows with other cells ------------------------------------------------------------------------

  margin(moves) {
    const { model } = this, scores = [];
    const slots = moves.flatMap(([i, cell]) => this.replaced(model.columns[i], this.row[i], cell));
    for (const { family, bases } of this.families) {
      const indices = family.outputs.map(({ index }) => index);
      const values = bases.map((base, m) => Eigen.some(model.add(base.slice(), family.block, m, slots), model.dim, indices));
      family.outputs.forEach(({ position, start }, n) => { scores[position] = start + model.mean(values.map((own) => own[n])); });
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

  // In spreads of the column, as in lambdak.optimize; another level is one.
  static distance(column, from, to) {
    return column.kind === "category" ? Number(from !== to) : Math.abs(to - from) / column.spread;
  }

  // ---- one column -------------------------------------------------------------------------------------------------

  // Of every open column: what it costs to reach the goal by it alone, if it can, or whether it is proven that it cannot.
  // The smallest change itself (move) is found for those of the lowest cost, as many as wanted.
  *singles(wanted) {
    const found = new Map(), enough = [];
    for (const i of this.open) {
      if (this.row[i] === null) found.set(i, { missing: true });
      else if (this.hopeless(i)) found.set(i, { proven: true });
      else {
        const piece = yield* this.single(i);
        found.set(i, piece ? { piece, cost: this.cost([[i, piece.guess]]) } : { proven: !this.doubtful.has(i) });
        if (piece) enough.push(i);
      }
    }
    for (const i of enough.sort((i, j) => found.get(i).cost - found.get(j).cost).slice(0, wanted)) {
      const own = found.get(i);
      own.move = yield* this.exact(i, own.piece);
      own.cost = this.cost([[i, own.move]]);
    }
    return found;
  }

  // The smallest change on a piece of a column.
  *exact(i, { from, to }) {
    return from === undefined ? to : yield* this.crossing(i, from, to, (cell) => this.margin([[i, cell]]));
  }

  // Whether the proven bounds of columns exclude that they reach the goal together.
  hopeless(...columns) {
    const most = columns.reduce((sum, i) => sum + this.strength(i), 0);
    return this.here + this.goal.reach * most + this.doubt < 0;
  }

  // How far a column can move a raw score from here; not known for a cell beyond the range of one that goes on there.
  strength(i) {
    const { kind, strength, clamp, low, high } = this.model.columns[i], cell = this.row[i];
    return kind === "category" || clamp || (low <= cell && cell <= high) ? strength : Infinity;
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
    if (best.margin + this.doubt >= 0) this.doubtful.add(i);
    return best.margin >= 0 ? { to: best.cell, guess: best.cell } : undefined;
  }

  // Outwards from the row, first up, then down as far as may be closer.
  *number(i) {
    const start = this.row[i], nodes = this.nodes(i);
    const up = yield* this.walk(i, nodes.filter((x) => x > start), Infinity);
    const down = yield* this.walk(i, nodes.filter((x) => x < start).reverse(), up ? up.guess - start : Infinity);
    return !down || (up && up.guess - start <= start - down.guess) ? up : down;
  }

  nodes(i) {
    const column = this.model.columns[i], parts = this.goal.outputs.length > 1 ? CONSTANTS.search_nodes : 1;
    const found = this.bounds.nodes(column, column.low, column.high, parts);
    return column.whole ? [...new Set(found.map(Math.round))] : found;
  }

  // The first piece on the way on which the goal is reached.
  *walk(i, nodes, most) {
    let last = this.row[i], before = this.here;
    for (const x of nodes) {
      if (Math.abs(last - this.row[i]) >= most) return undefined;
      const margin = this.tryCell(i, x);
      yield;
      const found = yield* this.between(i, [last, before], [x, margin], Changes.HALVINGS);
      if (found) return found;
      [last, before] = [x, margin];
    }
    return undefined;
  }

  // The piece between two values on which the goal is reached, which the first does not; where a peak may hide, it is halved.
  *between(i, [from, before], [to, after], halvings) {
    if (after >= 0) return { from, to, guess: from + ((to - from) * before) / (before - after) };
    if (this.peak(i, from, to, before, after) + this.doubt < 0) return undefined;
    const { whole } = this.model.columns[i], middle = whole ? Math.round((from + to) / 2) : (from + to) / 2;
    const last = whole && Math.abs(to - from) <= 1; // no whole number is between them
    if (last && Math.max(before, after) + this.doubt < 0) return undefined;
    if (last || !halvings) return void this.doubtful.add(i);
    const margin = this.tryCell(i, middle);
    yield;
    const first = yield* this.between(i, [from, before], [middle, margin], halvings - 1);
    return first ?? (yield* this.between(i, [middle, margin], [to, after], halvings - 1));
  }

  // No value between two has a margin above this: proven from how fast a piece of the column can move the raw score.
  peak(i, from, to, before, after) {
    const { outputs, side } = this.goal;
    if (outputs.length > 1) return Infinity;
    if (from > to) return this.peak(i, to, from, after, before);
    const [low, high] = this.bounds.between(this.model.outputs[outputs[0]].family.block, i, from, to);
    const [fall, rise] = side > 0 ? [low, high] : [-high, -low];
    return fall >= 0 || rise <= 0 ? Math.max(before, after) : before + (rise * (after - before - fall)) / (rise - fall);
  }

  tryCell(i, cell) {
    const margin = this.margin([[i, cell]]);
    if (!this.tried.has(i)) this.tried.set(i, []);
    this.tried.get(i).push([cell, margin]);
    return margin;
  }

  // Between a value that does not reach the goal and one that does: false position, halving the weight of an end that stays.
  *crossing(i, outside, inside, margin) {
    const column = this.model.columns[i], unit = Changes.unit(column, 5);
    let low = margin(outside), high = margin(inside), a = outside, b = inside, stayed = 0;
    if (low >= 0) return outside;
    for (let turn = 0; Math.abs(b - a) > unit && turn < 60; turn++) {
      const share = turn % 4 === 3 ? 1 / 2 : low / (low - high), near = Math.min(1 / 2, unit / Math.abs(b - a));
      const x = a + Math.min(Math.max(share, near), 1 - near) * (b - a), own = margin(x);
      if (own >= 0) {
        if (stayed > 0) low /= 2;
        [b, high, stayed] = [x, own, 1];
      } else {
        if (stayed < 0) high /= 2;
        [a, low, stayed] = [x, own, -1];
      }
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
    const promising = yield* this.promising(), enough = [];
    for (const [place, i] of promising.entries()) {
      for (const j of promising.slice(0, place)) enough.push((this.hopeless(i, j) ? null : yield* this.both(i, j)) ?? []);
    }
    const best = { cost: Infinity, moves: null };
    for (const { moves } of enough.flat().sort((a, b) => a.guess - b.guess).slice(0, Changes.SHRUNK)) {
      const small = yield* this.shrunk(moves), cost = this.cost(small);
      if (cost < best.cost) Object.assign(best, { moves: small, cost });
    }
    return best.moves;
  }

  // The columns that come closest to the goal alone, of those with the largest proven effect.
  *promising() {
    const strongest = this.open.filter((i) => this.row[i] !== null)
      .sort((i, j) => this.model.columns[j].strength - this.model.columns[i].strength).slice(0, 2 * Changes.PROMISING);
    if (strongest.length < 2 || this.hopeless(...strongest.slice(0, 2))) return [];
    for (const i of strongest) if (!this.tried.has(i)) yield* this.single(i);
    const closest = (i) => (this.tried.get(i) ?? []).reduce((most, [, margin]) => Math.max(most, margin), -Infinity);
    return strongest.filter((i) => this.tried.has(i)).sort((i, j) => closest(j) - closest(i)).slice(0, Changes.PROMISING);
  }

  // The cells of two columns that lead farthest beyond the goal, and what a change along the line to them may cost.
  *both(i, j) {
    const best = { margin: -Infinity };
    for (const own of this.foremost(i)) {
      for (const other of this.foremost(j)) {
        const moves = [[i, own], [j, other]], margin = this.margin(moves);
        if (margin > best.margin) Object.assign(best, { margin, moves });
        yield;
      }
    }
    return best.margin >= 0 ? { moves: best.moves, guess: (this.cost(best.moves) * this.here) / (this.here - best.margin) } : null;
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
