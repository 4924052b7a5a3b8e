// A section of the page. A file in sections/ defines one as a class that extends this, and adds it. The page makes its
// heading and its link, and calls it with the app (row, model, bounds, words, payload) and the element that it may fill.

class Section {
  static all = [];
  static id = ""; // of the element, and the target of the link
  static link = ""; // the text of the link at the top
  static title = "";
  static markup = ""; // fixed text of the file; names and cells of a table never become part of it

  static add(kind) {
    Section.all.push(kind);
  }

  // The section of this kind, as a new part of the page.
  static open(kind, app) {
    const body = Dom.make("div", { id: `${kind.id}-body` });
    body.innerHTML = kind.markup;
    const heading = Dom.make("h2", { id: `${kind.id}-title` }, kind.title);
    Dom.byId("sections").append(Dom.make("section", { id: kind.id, "aria-labelledby": heading.id }, heading, body));
    Dom.byId("links").append(Dom.make("a", { href: `#${kind.id}` }, kind.link), " ");
    return new kind(app, body);
  }

  constructor(app, body) {
    Object.assign(this, { app, body });
  }

  reset() {} // another row was chosen as a whole
  update() {} // at once, whenever a cell has changed
  draw() {} // in the next frame, and again when colours or sizes have changed
  settle() {} // once no cell has changed for a moment: what takes longer
  paper() {} // before printing: nothing may wait to be seen
}
