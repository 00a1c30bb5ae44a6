ClusterId = 11
ProcId = 0
Owner = "demo"
OsUser = "nobody"
JobStatus = 1
JobUniverse = 5
WantRoute = true
Cmd = "/bin/sh"
Arguments = "-c 'test $GREETING = hello'"
RequestMemory = 32

ClusterId = 12
ProcId = 0
Owner = "demo"
OsUser = "nobody"
JobStatus = 1
JobUniverse = 5
WantRoute = true
Cmd = "/bin/sh"
Arguments = "-c 'exit 7'"
RequestMemory = 100

ClusterId = 13
ProcId = 0
Owner = "demo"
OsUser = "nobody"
JobStatus = 1
JobUniverse = 5
Cmd = "/bin/true"
