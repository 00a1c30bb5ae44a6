" Syntax of ClassAds and of their expressions.
if exists("b:current_syntax")
  finish
endif

syn case ignore
syn match classadComment "^\s*#.*$"
syn match classadComment "//.*$"
syn region classadComment start="/\*" end="\*/"
syn region classadString start=+"+ skip=+\\.+ end=+"+ oneline contains=classadEscape,condorMacro
syn match classadEscape "\\." contained
syn region classadQuotedName start=+'+ skip=+\\.+ end=+'+ oneline
syn match classadNumber "\<\d\+\(\.\d*\)\?\([eE][-+]\?\d\+\)\?[BKMGT]\?\>"
syn match classadScope "\<\(MY\|TARGET\|PARENT\|SELF\)\ze\."
syn keyword classadConstant true false undefined error
syn keyword classadOperatorWord is isnt
syn match classadOperator "=?=\|=!=\|==\|!=\|>=\|<=\|&&\|||\|[<>!?]"
syn match classadAttribute "^\s*\zs[A-Za-z_][A-Za-z0-9_.]*\ze\s*=[^=?!]"
syn keyword classadFunction absTime allCompare anyCompare argsToList avg bool ceil ceiling countMatches currentTime
syn keyword classadFunction dayTime debug envV1ToV2 eval evalInEachContext floor formatTime getDayOfMonth
syn keyword classadFunction getDayOfWeek getDayOfYear getDays getHours getMinutes getMonth getSeconds getYear
syn keyword classadFunction identicalMember ifThenElse int interval isAbstime isBoolean isClassAd isError isInteger
syn keyword classadFunction isList isReal isReltime isString isUndefined join listToArgs max member mergeEnvironment
syn keyword classadFunction min pow quantize random real regexp regexpMember regexps relTime replace replaceAll round
syn keyword classadFunction size split splitSlotName splitTime splitUserName strcat strcmp stricmp string
syn keyword classadFunction stringList_regexpMember stringListAvg stringListIMember stringListISubsetMatch
syn keyword classadFunction stringListMax stringListMember stringListMin stringListsIntersect stringListSize
syn keyword classadFunction stringListSubsetMatch stringListSum substr sum time timeZoneOffset toLower toUpper
syn keyword classadFunction unparse unresolved userHome userMap version_in_range versioncmp versionEQ versionGE
syn keyword classadFunction versionGT versionLE versionLT

hi def link classadComment Comment
hi def link classadString String
hi def link classadEscape SpecialChar
hi def link classadQuotedName Identifier
hi def link classadNumber Number
hi def link classadScope Special
hi def link classadConstant Boolean
hi def link classadOperatorWord Operator
hi def link classadOperator Operator
hi def link classadAttribute Identifier
hi def link classadFunction Function

let b:current_syntax = "classad"
