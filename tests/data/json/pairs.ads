Name = "one"
Requirements = TARGET.Name == "two"

Name = "two"
Requirements = true
