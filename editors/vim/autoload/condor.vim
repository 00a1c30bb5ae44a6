" Language server for files of HTCondor: htc-config-dump lsp.
"
" g:condor_server_command   list with the program and its arguments [default: ['htc-config-dump', 'lsp']]
" g:condor_server_settings  dictionary with settings, as initializationOptions of the server [default: {}]
" g:condor_no_server        do not start the server

let s:languages = ['condor-config', 'condor-transform']
let s:is_registered = 0

function! s:command() abort
  return get(g:, 'condor_server_command', ['htc-config-dump', 'lsp'])
endfunction

" Starts the server in Neovim, or registers it with vim-lsp or yegappan/lsp if one of them is loaded.
function! condor#start_server() abort
  if get(g:, 'condor_no_server', 0) || !executable(s:command()[0])
    return
  endif
  let settings = get(g:, 'condor_server_settings', {})
  if has('nvim')
    call luaeval('vim.lsp.start({name = "htcondor", cmd = _A[1], root_dir = vim.fn.getcwd(), init_options = next(_A[2]) and _A[2] or nil})', [s:command(), settings])
  elseif !s:is_registered && exists('*lsp#register_server')
    let s:is_registered = 1
    call lsp#register_server({
          \ 'name': 'htcondor',
          \ 'cmd': {info -> s:command()},
          \ 'allowlist': s:languages,
          \ 'initialization_options': settings,
          \ })
  elseif !s:is_registered && exists('*LspAddServer')
    let s:is_registered = 1
    call LspAddServer([{
          \ 'name': 'htcondor',
          \ 'filetype': s:languages,
          \ 'path': s:command()[0],
          \ 'args': s:command()[1:],
          \ 'initializationOptions': settings,
          \ }])
  endif
endfunction
