// ---- rows and what is said of them -------------------------------------------------------------------------------

const MODEL = new Model(PAYLOAD);
const { estimator, kind, largest } = PAYLOAD.about;

/** Names of the columns, in the order of training. */
export const columns = Object.freeze(PAYLOAD.columns.map(({ name }) => name));
/** The labels of a classifier, in their order. */
export const classes = Object.freeze(PAYLOAD.about.classes);
/** The levels of the quantiles, if several are predicted. */
export const quantileLevels = Object.freeze(PAYLOAD.about.quantile_levels);
/** What was requested of the model and proven of its matrices, in words. */
export const guarantees = Object.freeze(PAYLOAD.about.guarantees);

// Levels by their cells; maps have no words of their own, such as "constructor".
const LEVELS = PAYLOAD.columns.map(({ texts = [], numbers = [] }) => ({ text: new Map(texts), number: new Map(numbers) }));

function shown(cell) {
  if (typeof cell === "string") return JSON.stringify(cell);
  return cell !== null && typeof cell === "object" ? Object.prototype.toString.call(cell) : String(cell);
}

function isMissing(cell) {
  return cell === null || cell === undefined || Number.isNaN(cell);
}

// A number as it is, null if it is missing.
function readNumber({ name }, cell, where) {
  if (isMissing(cell)) return null;
  if (!["number", "boolean", "bigint"].includes(typeof cell)) {
    throw new TypeError(`column ${shown(name)} must hold numbers; got ${shown(cell)}${where}: convert it to numbers, or fit with the column in categorical_features`);
  }
  const number = Number(cell);
  if (Math.abs(number) <= largest) return number;
  throw new RangeError(`column ${shown(name)} contains infinity or a value too large; got ${shown(cell)}${where}: replace it with NaN, which counts as missing, or with a finite cap`);
}

// The position of a level, −1 for the average of all.
function readLevel({ name, takes, missing_level: missing, unseen_level: unseen }, { text, number }, cell, where) {
  if (isMissing(cell)) return missing;
  const known = typeof cell === "string" ? text : number;
  const plain = ["string", "number", "boolean", "bigint"].includes(typeof cell);
  if (!plain || !(typeof cell === "string" ? takes.text : takes.number)) {
    const wanted = !takes.text ? "numbers" : takes.number ? "strings or numbers" : "strings";
    throw new TypeError(`column ${shown(name)} must hold ${wanted}, as in training; got ${shown(cell)}${where}: convert it first`);
  }
  const key = typeof cell === "string" ? cell : Number(cell);
  return (key == cell ? known.get(key) : undefined) ?? unseen;  // a bigint may equal no double
}

// The cells of an object, a Map, or an array in the order of the columns.
function cellsOf(row, where) {
  if (Array.isArray(row)) {
    if (row.length === columns.length) return row;
    throw new TypeError(`a row must have ${columns.length} cells; got ${row.length}${where}`);
  }
  if (row === null || typeof row !== "object") {
    throw new TypeError(`a row must be an object or a Map from names of columns to cells, or an array of cells in the order of the training columns; got ${shown(row)}${where}`);
  }
  const has = row instanceof Map ? (name) => row.has(name) : (name) => Object.hasOwn(row, name);
  const lacking = columns.filter((name) => !has(name));
  if (lacking.length) {
    const few = [...lacking.slice(0, 5), ...(lacking.length > 5 ? ["..."] : [])].map((name) => `- ${name}\n`).join("");
    throw new TypeError(`The feature names should match those that were passed during fit${where}.\nFeature names seen at fit time, yet now missing:\n${few}`);
  }
  return columns.map(row instanceof Map ? (name) => row.get(name) : (name) => row[name]);
}

function readRow(row, number) {
  const where = number === undefined ? "" : ` in row ${number}`, cells = cellsOf(row, where);
  return PAYLOAD.columns.map((column, i) =>
    column.kind === "category" ? readLevel(column, LEVELS[i], cells[i], where) : readNumber(column, cells[i], where));
}

function readOffset(offset) {
  if (offset === undefined || offset === null) return 0;
  if (PAYLOAD.about.no_offset) throw new TypeError(`offset cannot be given: ${PAYLOAD.about.no_offset}`);
  if (typeof offset === "number" && Math.abs(offset) <= PAYLOAD.about.largest_offset) return offset;
  throw new RangeError(`offset must be a finite number; got ${shown(offset)}`);
}

function scoresOf(cells, offset) {
  const added = readOffset(offset);
  return MODEL.scores(cells).map((score) => score + added);
}

// Quantiles; neighbours that rounding has put out of order become equal.
function rising(scores) {
  let most = -Infinity;
  return scores.map((score) => (most = Math.max(most, score)));
}

// The mean, the middle quantile, or the label of a class.
function answer(scores) {
  if (kind === "classes") return classes[MODEL.decided(scores)];
  return MODEL.predictions(kind === "quantiles" ? rising(scores) : scores)[scores.length >> 1];
}

export function predict(row, offset) {
  return answer(scoresOf(readRow(row), offset));
}

export function predictMany(rows, offset) {
  const several = Array.isArray(offset) || ArrayBuffer.isView(offset), list = Array.from(rows);
  if (several && offset.length !== list.length) throw new RangeError(`offset must have ${list.length} numbers, one for each row; got ${offset.length}`);
  return list.map((row, i) => answer(scoresOf(readRow(row, i), several ? offset[i] ?? NaN : offset)));  // NaN is refused
}

export function raw(row, offset) {
  return scoresOf(readRow(row), offset);
}

export function proba(row, offset) {
  if (kind !== "classes") throw new TypeError(`proba needs a classifier; the model is a ${estimator}`);
  return MODEL.chances(scoresOf(readRow(row), offset));
}

export function quantiles(row) {
  if (kind !== "quantiles") throw new TypeError(`quantiles needs a SpectralQuantileRegressor; the model is a ${estimator}`);
  return MODEL.predictions(rising(MODEL.scores(readRow(row))));
}
