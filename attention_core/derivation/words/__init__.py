"""Words of prose: which may restrict a symbol, which cannot, and what was left over.

`vocabulary` opens assumptions and claims, `inert` is what restricts nothing, `leftovers` and
`caveats` are what is neither; `paragraphs` tells paragraphs that declare from others.
"""
