" References to macros, and ClassAd expressions: what values of configurations, routes and transforms contain.
if exists("b:current_syntax")
  finish
endif

syn include @condorExpressionClassad <sfile>:h/classad.vim
unlet! b:current_syntax

syn region condorMacro matchgroup=condorMacroMark start="\$\$\?[A-Za-z_]*(" end=")" oneline contains=condorMacro
syn match condorContinuation "\\\s*$"
syn cluster condorExpression contains=condorMacro,condorContinuation,classadString,classadNumber,classadScope,classadConstant,classadFunction,classadOperator,classadOperatorWord

hi def link condorMacro PreProc
hi def link condorMacroMark PreProc
hi def link condorContinuation Special

let b:current_syntax = "condor-expression"
