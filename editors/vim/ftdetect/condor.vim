" Files of HTCondor.
autocmd BufNewFile,BufRead condor_config,condor_config.local,*.condor setfiletype condor-config
autocmd BufNewFile,BufRead */condor/*.conf,*/condor/*.config,*/condor/config.d/*,*/condor-ce/config.d/* setfiletype condor-config
autocmd BufNewFile,BufRead *.xfm setfiletype condor-transform
autocmd BufNewFile,BufRead *.ad,*.ads,*.classad setfiletype classad
