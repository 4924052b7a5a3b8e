// What the model guarantees: the claims of its certificate, requested ones first.

class CertificateSection extends Section {
  static id = "certificate";
  static link = "Guarantees";
  static title = "What is guaranteed";

  constructor(app, body) {
    super(app, body);
    const found = app.payload.certificate;
    if (found) this.fill(found.claims);
    else Dom.fill(body, Dom.make("p", { class: "note" }, "No certificate was included in this report."));
  }

  fill(claims) {
    const ordered = [...claims].sort((a, b) => Boolean(b.requested) - Boolean(a.requested) || b.proven - a.proven);
    const heads = ["status", "about", "claim", "number", "rounding margin", "how it was checked"];
    Dom.fill(this.body, Dom.make("p", {}, this.summary(claims)), Tables.table("Claims", heads, ordered.map((claim) => this.line(claim))));
  }

  summary(claims) {
    const proven = claims.filter((claim) => claim.proven).length, open = claims.length - proven;
    const text =
      `${proven} of ${claims.length} claims ${proven === 1 ? "is" : "are"} proven${open ? `, ${open} ${open === 1 ? "is" : "are"} not` : ""}. ` +
      "A proven claim is true for every possible row, not only for the rows of a data set.";
    return open ? text + " Not proven means that the model's numbers do not prove the claim; there need not be a row that contradicts it." : text;
  }

  line({ proven, requested, subject, statement, value, margin, how }) {
    const status = (proven ? "✓ proven" : "✗ not proven") + (requested ? ", requested" : "");
    return Tables.row(Dom.make("td", { class: proven ? "proven" : "unproven" }, status),
      Tables.first(subject), Tables.words(statement), Tables.value(Dom.number(value)), Tables.value(Dom.number(margin, 2)), Tables.words(how));
  }
}

Section.add(CertificateSection);
