
// ---- explanations ------------------------------------------------------------------------------------------------

// ⟨Σ weight · matrix, v vᵀ⟩ of every member, weighted as the raw score is.
function product(output, slots, point) {
  return MODEL.mean(point.map(({ outer }, m) => slots.reduce((sum, [id, weight]) => {
    const matrix = MODEL.design(output.family.block, m, id);
    let inner = 0;
    for (let k = 0; k < outer.length; k++) inner += outer[k] * matrix[k];
    return sum + weight * inner;
  }, 0)));
}

export function explain(row, { output, offset } = {}) {
  const cells = readRow(row), scores = scoresOf(cells, offset);
  const usual = MODEL.link === "softmax" ? scores.indexOf(Math.max(...scores)) : scores.length >> 1;
  const chosen = output ?? usual, own = MODEL.outputs[chosen];
  if (!own) throw new RangeError(`output must be in [0, ${MODEL.outputs.length}); got ${shown(output)}`);
  const point = MODEL.point(own, cells), repeated = point.some((member) => member.repeated);
  const influence = PAYLOAD.columns.map((column, i) => {
    if (repeated) return NaN;
    if (column.kind === "category") return product(own, MODEL.slots(column, cells[i]), point);
    return cells[i] === null ? 0 : product(own, MODEL.slope(column, cells[i]), point);
  });
  return { prediction: answer(scores), raw: scores, output: chosen, influence };
}
