" Syntax of HTCondor configurations.
if exists("b:current_syntax")
  finish
endif

syn case ignore
" Values may be expressions.
syn include @condorConfigMacros <sfile>:h/condor-expression.vim
unlet! b:current_syntax
" Routes and transforms are blocks of commands.
syn include @condorConfigRules <sfile>:h/condor-transform.vim
unlet! b:current_syntax

syn match condorConfigComment "^\s*#.*$"
syn match condorConfigName "^\s*\zs[^ \t=:#@][^ \t=:]*\ze\(\s\+[^=:@+]*\)\?\s*\(=\|:\|+[,;|&*]\{0,2}=\)" nextgroup=condorConfigOperator skipwhite
" Words before the operator are ignored by HTCondor.
syn match condorConfigOperator "[^=:@+]*\(=\|:\|+[,;|&*]\{0,2}=\)" contained nextgroup=condorConfigValue
syn match condorConfigValue "\(.*\\\s*\n\)*.*$" contained contains=@condorExpression,condorConfigComment
syn region condorConfigBlock matchgroup=condorConfigBlockEnd start="^\s*\zs[^ \t=:#][^ \t=:]*\s*@=\z(.*\S\|\)\s*$" end="^\s*@\z1\s*$" contains=@condorExpression,condorConfigComment keepend
syn region condorConfigRulesBlock matchgroup=condorConfigBlockEnd start="^\s*\zs\(JOB_ROUTER_ROUTE_\|JOB_ROUTER_TRANSFORM_\|JOB_TRANSFORM_\)[^ \t=:]*\s*@=\z(.*\S\|\)\s*$" end="^\s*@\z1\s*$" contains=@condorConfigRules keepend
syn match condorConfigConditional "^\s*:\?\zs\(if\|elif\|else\|endif\)\>.*$" contains=condorConfigConditionalWord,@condorExpression
syn keyword condorConfigConditionalWord if elif else endif defined version contained
syn match condorConfigUse "^\s*@\?use\s\+[^:=+@]*:.*$" contains=condorConfigUseWord,condorConfigCategory,condorConfigTemplate,@condorExpression
syn match condorConfigUseWord "^\s*@\?use\>" contained
syn match condorConfigCategory "\(use\s\+\)\@<=[^:=+@ \t]\+" contained
syn match condorConfigTemplate "\([:,)]\s*\)\@<=[^ \t,()$]\+" contained
syn match condorConfigInclude "^\s*@\?include\>[^:=+@]*:.*$" contains=condorConfigIncludeWord,condorMacro
syn match condorConfigIncludeWord "^\s*@\?include\>\(\s\+\(ifexist\|ifexists\|command\|output\|into\)\>\)*" contained
syn match condorConfigMessage "^\s*@\?\(error\|warning\)\>[^:=+@]*:.*$" contains=condorMacro

hi def link condorConfigComment Comment
hi def link condorConfigName Identifier
hi def link condorConfigOperator Operator
hi def link condorConfigBlockEnd Identifier
hi def link condorConfigConditionalWord Conditional
hi def link condorConfigUseWord Include
hi def link condorConfigCategory Type
hi def link condorConfigTemplate Type
hi def link condorConfigInclude String
hi def link condorConfigIncludeWord Include
hi def link condorConfigMessage Special

let b:current_syntax = "condor-config"
