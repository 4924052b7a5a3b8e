// The matrices themselves, on demand.

class MatricesSection extends Section {
  static id = "matrices";
  static link = "Inside";
  static title = "Inside the model";
  static markup = `
    <details id="matrix-details" class="screen">
      <summary>Show the model's matrices</summary>
      <p class="note" id="matrix-note"></p>
      <div class="bar">
        <label class="field" id="block-field">Output <select id="block"></select></label>
        <label class="field">Member <select id="matrix-member"></select></label>
        <label class="field">Matrix of <select id="matrix"></select></label>
      </div>
      <p class="note">Blue entries are positive, orange ones negative. A row's matrix is the sum of the constant and of one
      matrix per column, mixed from the two nearest knots of a number; the prediction is read from one of its
      eigenvalues.</p>
      <div class="chart" id="matrix-chart"></div>
    </details>`;

  constructor(app, body) {
    super(app, body);
    const { model, payload } = app;
    this.names = ["the present row", "constant", ...payload.matrices.slice(1)];
    this.details = Dom.byId("matrix-details");
    Dom.byId("matrix-note").textContent = app.words.construction();
    Dom.options("block", model.families.map(({ outputs }) => app.words.output(outputs[0].position)));
    Dom.options("matrix-member", model.weights.map((_, m) => `${m + 1} of ${model.members}`));
    Dom.byId("block-field").hidden = model.families.length < 2;
    this.details.addEventListener("toggle", () => this.open());
    for (const id of ["block", "matrix-member", "matrix"]) Dom.byId(id).addEventListener("change", () => this.settle());
  }

  // The list of matrices may be long, so it is made when it is first looked at.
  open() {
    if (!Dom.byId("matrix").options.length) Dom.options("matrix", this.names);
    this.settle();
  }

  settle() {
    if (!this.details.open) return;
    const { model, row } = this.app;
    const [block, m, choice] = ["block", "matrix-member", "matrix"].map((id) => Number(Dom.byId(id).value));
    const family = model.families[block];
    const packed = choice === 0 ? model.matrix(family, m, row)
      : choice === 1 ? family.constant.subarray(m * model.size, (m + 1) * model.size)
      : model.design(family.block, m, choice - 1);
    const values = this.square(packed, model.dim), label = `Matrix of ${this.names[choice]}, ${model.dim} rows and columns`;
    Plots.heat(Dom.byId("matrix-chart"), { values, label, tip: (i, j) => Dom.number(values[i][j]) });
  }

  // A symmetric matrix from its packed lower triangle.
  square(packed, d) {
    const z = Array.from({ length: d }, () => new Array(d));
    for (let i = 0, k = 0; i < d; i++) {
      for (let j = 0; j <= i; j++, k++) z[i][j] = z[j][i] = i === j ? packed[k] : packed[k] * Math.SQRT1_2;
    }
    return z;
  }
}

Section.add(MatricesSection);
