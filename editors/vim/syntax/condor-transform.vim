" Syntax of routes, transforms and rules files.
if exists("b:current_syntax")
  finish
endif

syn case ignore
syn include @condorTransformMacros <sfile>:h/condor-expression.vim
unlet! b:current_syntax

syn match condorTransformComment "^\s*#.*$"
syn match condorTransformStatement "^\s*\zs[A-Za-z]\+\>\ze\(\s\|$\)" contains=condorTransformCommand,condorTransformConditional nextgroup=condorTransformArguments
syn keyword condorTransformCommand COPY DEFAULT DELETE EVALMACRO EVALSET NAME RENAME REQUIREMENTS SET TRANSFORM UNIVERSE contained
syn keyword condorTransformConditional if elif else endif contained
syn match condorTransformName "^\s*\zs[^ \t=:#@]\+\ze\s*\(=\|@=\|+[,;|&*]\{0,2}=\)" nextgroup=condorTransformArguments
syn match condorTransformArguments "\(.*\\\s*\n\)*.*$" contained contains=@condorExpression,condorTransformComment

hi def link condorTransformComment Comment
hi def link condorTransformCommand Statement
hi def link condorTransformConditional Conditional
hi def link condorTransformName Identifier

let b:current_syntax = "condor-transform"
