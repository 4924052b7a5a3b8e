/* Which results of a search come first: pages of the guide, the estimators, the gallery, and then the rest of the API. */
var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) => {
    const own = Math.min(score, 20) // a word of the glossary would have up to 100
    const inTitle = kind === "title" || kind === "index" || score >= 15
    if (page.startsWith("guide/")) return own + (inTitle ? 60 : 5)
    if (page.startsWith("gallery/")) return own + (inTitle ? 30 : 0)
    if (kind !== "object") return own
    if (score <= Scorer.objPrio[1]) return own - 30 // only the class around it has the word
    if (/^lambdak\.Spectral\w+$/.test(title)) return own + 50
    if (title.startsWith("lambdak.SpectralRegressor.")) return own + 45
    if (title.startsWith("lambdak.Spectral")) return own + 40
    if (/^Python (attribute|property)/.test(description)) return own - 30
    return /^lambdak\.(dask|torch|jax)\./.test(title) ? own - 20 : own
  },

  // What follows is what Sphinx has by default.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
}
