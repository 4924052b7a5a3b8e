// The matrices themselves, on demand.

class Matrices {
  constructor(payload, model, state) {
    Object.assign(this, { model, state, names: ["the present row", "constant", ...payload.matrices.slice(1)] });
    this.details = Dom.byId("matrix-details");
    const make = (text, value) => Dom.make("option", { value, title: text }, Dom.short(text, 50));
    Dom.fill(Dom.byId("block"), ...payload.model.families.map(({ outputs }, i) => make(outputs[0].name, i)));
    Dom.fill(Dom.byId("matrix-member"), ...model.weights.map((_, m) => make(`${m + 1} of ${model.members}`, m)));
    Dom.byId("block-field").hidden = model.families.length < 2;
    this.details.addEventListener("toggle", () => this.open());
    for (const id of ["block", "matrix-member", "matrix"]) Dom.byId(id).addEventListener("change", () => this.draw());
  }

  // The list of matrices may be long, so it is made when it is first looked at.
  open() {
    const list = Dom.byId("matrix");
    if (!list.options.length) {
      Dom.fill(list, ...this.names.map((text, value) => Dom.make("option", { value, title: text }, Dom.short(text, 50))));
    }
    this.draw();
  }

  draw() {
    if (!this.details.open) return;
    const [block, m, choice] = ["block", "matrix-member", "matrix"].map((id) => Number(Dom.byId(id).value));
    const family = this.model.families[block];
    const packed = choice === 0 ? this.model.matrix(family, m, this.state.row)
      : choice === 1 ? family.constant.subarray(m * this.model.size, (m + 1) * this.model.size)
      : this.model.design(family.block, m, choice - 1);
    Charts.heat(Dom.byId("matrix-chart"), packed, this.model.dim, this.names[choice]);
  }
}
