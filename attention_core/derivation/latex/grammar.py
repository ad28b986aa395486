r"""The grammar of formulas as text.

The grammar of formulas, for Lark's LALR parser. What each rule builds is in `tree`.
A product is greedy: `\sum` and `\log` without brackets take the factors that follow, up to + or - or a relation.
"""

from __future__ import annotations

GRAMMAR = r"""
start: group (ARROW group)*
group: chain (AND chain)*
chain: expr (REL expr)*
?expr: sum
?sum: product | signed_sum
signed_sum: PLUS product (sign product)* | MINUS product (sign product)* | product (sign product)+
!sign: PLUS | MINUS
?product: factors
factors: factor (opfactor)*
?opfactor: factor -> juxtaposition
         | TIMES factor -> operation
         | TIMES MINUS factor -> negation
?factor: simple | bracketed | called | prefixed

// what may follow a function without brackets, and what may not
?simple: atom | simple UNDER script -> sub | simple CARET power -> sup | simple TRANS -> transpose
?bracketed: bracket | bracketed UNDER script -> sub | bracketed CARET power -> sup | bracketed TRANS -> transpose
?called: call | called UNDER script -> sub | called CARET power -> sup | called TRANS -> transpose

atom: NUM -> number | NAME -> name | INF -> infinity | DOTS -> dots
    | (FRAC argument argument) -> frac
    | SQRT argument -> root
    | SQRT LBRACK expr RBRACK argument -> root_of
    | LBAR expr RBAR -> absolute | LNORM expr RNORM -> norm
    | BEGINMAT row (NEWROW row)* ENDMAT -> array
    | PFRAC LBRACE PARTIAL [CARET power] factors RBRACE LBRACE bys RBRACE -> derivative
row: cell (AMP cell)*
cell: [expr]
bys: (PARTIAL simple)+
bracket: LPAR items RPAR -> round | LBRACK items RBRACK -> square | LPAR items RBRACK -> round_square
       | LBRACK items RPAR -> square_round | LSET items RSET -> set | LBRACE expr RBRACE -> braces
items: item (COMMA item)* -> commas | item (SEMI item)+ -> semis
?item: chain
argument: LBRACE expr RBRACE -> inside | NUM -> number | NAME -> name
script: LBRACE subitem (COMMA subitem)* RBRACE -> subscripts | NUM -> sub_number | NAME -> sub_name
      | INF -> sub_infinity
?subitem: chain | [expr] COLON [expr] -> slice
power: LBRACE expr RBRACE -> inside | NUM -> number | NAME -> name
     | TIMES -> star | PLUS -> sign_mark | MINUS -> sign_mark

head: FUNC -> function | head UNDER script -> head_sub | head CARET power -> head_sup | head TRANS -> head_sup
call: head LPAR items RPAR | head LBRACK items RBRACK | head LBRACE items RBRACE

prefixed: head open -> open_call
        | bighead body -> big
        | NABLA UNDER script bracketed -> nabla
        | NABLA UNDER script body_open -> nabla
        | dhead bracketed -> derive
        | dhead body_open -> derive
open: openfactors | called | prefixed
openfactors: simple (simple | bracketed)*
bighead: BIGOP -> bigop | bighead UNDER script -> big_sub | bighead CARET power -> big_sup
       | bighead TRANS -> big_letter
body: factors
body_open: open_first (opfactor)*
?open_first: simple | called | prefixed
dhead: PFRAC LBRACE PARTIAL [CARET power] RBRACE LBRACE bys RBRACE

%declare NUM NAME INF DOTS FRAC PFRAC SQRT LPAR RPAR LBRACK RBRACK LBRACE RBRACE LSET RSET LBAR RBAR LNORM RNORM
%declare BEGINMAT ENDMAT NEWROW AMP PARTIAL NABLA FUNC BIGOP UNDER CARET TRANS PLUS MINUS TIMES
%declare COMMA SEMI COLON REL ARROW AND
"""
