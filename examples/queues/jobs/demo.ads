Owner = "demo"
OsUser = "nobody"
Cmd = "/bin/sh"
Arguments = "-c 'echo hello'"

Owner = "demo"
OsUser = "nobody"
Cmd = "/bin/sh"
Arguments = "-c 'exit 3'"

Owner = "demo"
OsUser = "nobody"
Cmd = "/bin/sh"
Arguments = "-c 'kill -TERM $$'"

Owner = "demo"
OsUser = "nobody"
Cmd = "/bin/true"
RequestMemory = 65536
