// A section of the page. A file in sections/ defines one as a class that extends this, and adds it. The page makes its
// heading and its link, unless Python has written them, and calls it with the app (row, model, bounds, words, payload) and
// the element that it may fill.

class Section {
  static all = [];
  static id = ""; // of the element, and the target of the link
  static link = ""; // the text of the link at the top
  static title = "";
  static markup = ""; // fixed text of the file; names and cells of a table never become part of it

  static add(kind) {
    Section.all.push(kind);
  }

  // The section of this kind, in the place that the page has for it.
  static open(kind, app) {
    const element = Dom.byId(kind.id) ?? Dom.byId("sections").appendChild(Dom.make("section", { id: kind.id }));
    if (!Dom.byId(`${kind.id}-body`)) {
      element.setAttribute("aria-labelledby", `${kind.id}-title`);
      element.append(Dom.make("h2", { id: `${kind.id}-title` }, kind.title), Dom.make("div", { id: `${kind.id}-body` }));
      Section.addLink(kind, element);
    }
    const body = Dom.byId(`${kind.id}-body`);
    body.innerHTML = kind.markup;
    return new kind(app, body);
  }

  // A link at the top, in the order of the page.
  static addLink(kind, element) {
    const own = Dom.make("a", { href: `#${kind.id}` }, kind.link);
    const later = [...Dom.byId("sections").children].slice([...Dom.byId("sections").children].indexOf(element) + 1);
    const next = later.map(({ id }) => document.querySelector(`#links a[href="#${id}"]`)).find(Boolean) ?? null;
    Dom.byId("links").insertBefore(own, next);
    own.after(" ");
  }

  constructor(app, body) {
    Object.assign(this, { app, body });
  }

  reset() {} // another row was chosen as a whole
  update() {} // at once, whenever a cell has changed
  draw() {} // in the next frame, and again when sizes have changed
  settle() {} // once no cell has changed for a moment: what takes longer
  resize() {} // at the beginning, and when sizes have changed: what does not depend on the row
  paper() {} // before printing: nothing may wait to be seen
}
