ClusterId = 1
ProcId = 0
Owner = "nobody"
JobStatus = 1
JobUniverse = 5
Cmd = "/bin/true"
RoutedToJobId = "2.0"

ClusterId = 2
ProcId = 0
Owner = "nobody"
JobStatus = 4
JobUniverse = 5
Cmd = "/bin/true"
ExitCode = 0
RoutedFromJobId = "1.0"
