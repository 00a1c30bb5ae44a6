ClusterId = 7
ProcId = 0
Owner = "ana"
JobStatus = 1
JobUniverse = 5
RequestMemory = 2000

ClusterId = 7
ProcId = 1
Owner = "ana"
JobStatus = 5
JobUniverse = 5
RequestMemory = 2000

ClusterId = 8
ProcId = 0
Owner = "ben"
JobStatus = 1
JobUniverse = 5
RequestMemory = 500
