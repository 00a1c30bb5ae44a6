//! Tests whether an attribute is defined: what is suggested for them.

use super::{explain, plain_slot};

/// Returns the sentences and the suggestions for a slot with this START.
fn start(condition: &str, job: &str) -> (Vec<String>, Vec<String>) {
    explain(&[&plain_slot("slot1@a", &format!("Requirements = {condition};"))], &format!("[ {job} ]"))
}

#[test]
fn an_attribute_that_must_be_defined_may_have_any_value() {
    for condition in [
        "!isUndefined(TARGET.Project)",
        "isUndefined(TARGET.Project) == false",
        "TARGET.Project isnt undefined",
        "TARGET.Project =!= undefined",
        "undefined =!= TARGET.Project",
        "!(TARGET.Project =?= undefined)",
        "!(TARGET.Project is undefined)",
        "ifThenElse(isUndefined(TARGET.Project), false, true)",
    ] {
        let (sentences, suggestions) = start(condition, "Owner = \"ann\"");
        assert!(sentences[0].contains("the job has no Project"), "{condition}: {sentences:?}");
        assert!(!sentences[0].starts_with(' '), "{condition}: {sentences:?}");
        assert_eq!(suggestions, ["with Project set (to any value): 1 more slot"], "{condition}");
    }
    // The attribute exists, and its value is undefined.
    let (_, suggestions) = start("TARGET.Project isnt undefined", "Project = undefined");
    assert_eq!(suggestions, ["with Project set (to any value): 1 more slot"]);
}

#[test]
fn an_attribute_that_must_be_undefined_is_removed() {
    for condition in [
        "isUndefined(TARGET.Interactive)",
        "TARGET.Interactive is undefined",
        "TARGET.Interactive =?= undefined",
        "undefined =?= TARGET.Interactive",
    ] {
        let (sentences, suggestions) = start(condition, "Interactive = true");
        assert!(sentences[0].ends_with("the job has Interactive = true"), "{condition}: {sentences:?}");
        assert_eq!(suggestions, ["without Interactive: 1 more slot"], "{condition}");
    }
    // A job that asks for a resource needs it, and the schedd sets the status of a job.
    for (condition, job) in
        [("isUndefined(TARGET.RequestGPUs)", "RequestGPUs = 1"), ("TARGET.QDate is undefined", "QDate = 1")]
    {
        let (_, suggestions) = start(condition, job);
        assert!(suggestions.is_empty(), "{condition}: {suggestions:?}");
    }
}

#[test]
fn a_value_that_matters_is_suggested() {
    let (_, suggestions) = start("TARGET.Project isnt undefined && TARGET.Project == \"atlas\"", "A = 1");
    assert_eq!(suggestions, ["with Project = \"atlas\": 1 more slot"]);
    let (_, suggestions) = start("ifThenElse(isUndefined(TARGET.IsSmall), false, TARGET.IsSmall)", "A = 1");
    assert_eq!(suggestions, ["with IsSmall = true: 1 more slot"]);
}

#[test]
fn a_condition_of_the_job_is_not_turned_into_its_opposite() {
    let docker = plain_slot("slot1@a", "HasDocker = true; Requirements = true;");
    let (sentences, suggestions) = explain(&[&docker], "[ Requirements = TARGET.HasDocker =?= undefined ]");
    assert!(sentences[0].ends_with("the slot has HasDocker = true"), "{sentences:?}");
    assert_eq!(suggestions, ["without TARGET.HasDocker =?= undefined: 1 more slot"]);
    let (_, suggestions) = explain(&[&docker], "[ Requirements = !isUndefined(TARGET.HasTape) ]");
    assert_eq!(suggestions, ["without !isUndefined(TARGET.HasTape): 1 more slot"]);
}

#[test]
fn a_function_that_does_not_exist_is_named() {
    let (sentences, suggestions) = start("defined(TARGET.Project)", "A = 1");
    assert!(sentences[0].contains("there is no function defined"), "{sentences:?}");
    assert!(suggestions.is_empty(), "{suggestions:?}");
}
