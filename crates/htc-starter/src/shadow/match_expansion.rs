//! Changes that a schedd makes to a job ad for the slot that the job gets: it replaces `$$(NAME)` and
//! `$$([expression])`, and adds the provisioned resources. A job that a hook fetched has no schedd, and its ad is not
//! changed.
//!
//! Reference: `dollarDollarExpand` (qmgmt.cpp).

use bstr::{BString, ByteSlice};

use htc_base::text::{caseless, list};
use htc_base::world::World;
use htc_classad::syntax::Dialect;
use htc_classad::{AttrName, ClassAd, Context, Expr, Value};
use htc_config::macro_reference::next_dollar_dollar;

/// Prefix of attributes that keep the slot's value for a reference, for use when the slot ad is no longer available.
const MATCH_PREFIX: &str = "MATCH_";
/// Prefix of attributes that keep the expanded value of a job attribute.
const MATCH_EXP_PREFIX: &str = "MATCH_EXP_";
/// Prefix of attributes that a negotiator adds to the slot ad for the job.
const NEGOTIATOR_PREFIX: &[u8] = b"NegotiatorMatchExpr";
/// Resources of a slot that does not list any.
const DEFAULT_RESOURCES: &str = "Cpus, Disk, Memory";

/// Changes to a job ad for the slot that the job gets.
#[derive(Clone, Debug)]
pub struct MatchedAd {
    /// Attributes whose values in the shadow's copy of the ad differ from the queue.
    pub run_attributes: ClassAd,
    /// Attributes that are stored in the queue.
    pub queue_attributes: ClassAd,
}

/// Reference that cannot be expanded. The job is put on hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Cannot expand $$ expression ({name}).")]
pub struct ExpansionError {
    /// Name or expression between the parentheses of the reference.
    pub name: BString,
    /// Job attribute that contains the reference.
    pub attribute: BString,
}

/// Returns the changes to a job ad for a slot. Without a slot ad, uses the values kept from an earlier slot.
///
/// # Errors
/// Returns an error for a reference to an attribute that the slot ad lacks and that has no default.
pub fn expand_for_slot(
    job: &ClassAd,
    slot: Option<&ClassAd>,
    world: &dyn World,
) -> Result<MatchedAd, ExpansionError> {
    let mut found = MatchedAd { run_attributes: ClassAd::new(), queue_attributes: ClassAd::new() };
    for (name, expr) in job.sorted() {
        if caseless::starts_with(name, MATCH_PREFIX.as_bytes()) {
            continue;
        }
        let cached = AttrName::from([MATCH_EXP_PREFIX.as_bytes(), name].concat().as_slice());
        if slot.is_none()
            && let Some(before) = job.get(cached.clone())
        {
            found.run_attributes.insert(name.as_bytes(), before);
            continue;
        }
        let before = expr.unparse_old();
        let text = AttributeExpansion { job, slot, world, kept: &mut found.queue_attributes }
            .expand_references(before.clone())
            .map_err(|name_of_reference| ExpansionError {
                name: name_of_reference,
                attribute: name.to_owned(),
            })?;
        // An attribute remains unchanged if its expanded text is not a valid expression.
        if text != before
            && let Ok(expr) = Expr::parse_with(&text, Dialect::of_world(world).old())
        {
            found.run_attributes.insert(name.as_bytes(), expr.clone());
            found.queue_attributes.insert(cached, expr);
        }
    }
    if let Some(slot) = slot {
        publish_provisioned(job, slot, world, &mut found);
    }
    Ok(found)
}

/// Expansion of the references in one attribute.
struct AttributeExpansion<'a> {
    job: &'a ClassAd,
    slot: Option<&'a ClassAd>,
    world: &'a dyn World,
    kept: &'a mut ClassAd,
}

impl AttributeExpansion<'_> {
    /// Expands all references in a text. The result of an expansion is not expanded again.
    fn expand_references(mut self, mut text: BString) -> Result<BString, BString> {
        let mut from = 0;
        while let Some(reference) = next_dollar_dollar(&text, from) {
            let body = BString::from(reference.body(&text));
            let inner = body.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
            let value = match inner {
                Some(inner) => self.evaluate_expression(inner).ok_or_else(|| body.clone())?,
                None => {
                    let (name, default) = match body.split_once_str(":") {
                        Some((name, default)) => (name, Some(default)),
                        None => (body.as_slice(), None),
                    };
                    self.look_up_in_slot(name, default).ok_or_else(|| BString::from(name))?
                }
            };
            from = reference.dollar + value.len();
            text.splice(reference.dollar..reference.end, value.iter().copied());
        }
        Ok(text)
    }

    /// Evaluates an expression to a string. MY is the job, and TARGET is the slot. The expression is inside the text of
    /// a value, so its quotes and backslashes are escaped once more.
    fn evaluate_expression(&self, inner: &[u8]) -> Option<BString> {
        let mut text = Vec::from(b"string(");
        let mut bytes = inner.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            let escaped =
                if byte == b'\\' { bytes.next_if(|next| matches!(next, b'"' | b'\\')) } else { None };
            text.push(escaped.unwrap_or(byte));
        }
        text.push(b')');
        let expr = Expr::parse_with(&text, Dialect::of_world(self.world).old()).ok()?;
        let nothing = ClassAd::new();
        let context = Context::new(self.world).my(self.job).target(self.slot.unwrap_or(&nothing));
        match context.eval(&expr) {
            Value::Str(text) => Some(text.as_bytes().into()),
            _ => None,
        }
    }

    /// Returns the text of a slot attribute's expression without evaluating it; for a string, the text between the
    /// quotes.
    fn look_up_in_slot(&mut self, name: &[u8], default: Option<&[u8]>) -> Option<BString> {
        if name.contains(&b'.') {
            return None;
        }
        if caseless::eq(name, b"DOLLARDOLLAR") {
            return Some("$$".into());
        }
        let kept = AttrName::from([MATCH_PREFIX.as_bytes(), name].concat().as_slice());
        let found = match self.slot {
            Some(slot) => slot.get(name).inspect(|expr| self.kept.insert(kept.clone(), expr.clone())),
            None => self.job.get(kept.clone()),
        };
        let Some(expr) = found else {
            let default = default?;
            if self.slot.is_some() {
                self.kept.insert(kept, Expr::literal(Value::from(BString::from(default))));
            }
            return Some(default.into());
        };
        let text = expr.unparse_old();
        let inner = text.strip_prefix(b"\"").map(|rest| rest.strip_suffix(b"\"").unwrap_or(rest));
        Some(inner.unwrap_or(&text).into())
    }
}

/// Adds the provisioned resources of the slot, the job's requests as values, and the attributes from the negotiator.
fn publish_provisioned(job: &ClassAd, slot: &ClassAd, world: &dyn World, found: &mut MatchedAd) {
    for (name, expr) in slot.sorted() {
        if name.starts_with(NEGOTIATOR_PREFIX) {
            found.run_attributes.insert(name.as_bytes(), expr.clone());
            found.queue_attributes.insert([MATCH_EXP_PREFIX.as_bytes(), name].concat().as_slice(), expr);
        }
    }
    let listed = Context::new(world).my(slot).string("MachineResources");
    if let Some(listed) = &listed {
        found.run_attributes.set("ProvisionedResources", Value::from(listed.clone()));
    }
    let listed = listed.unwrap_or_else(|| DEFAULT_RESOURCES.into());
    for resource in list::split(&listed) {
        let resource = resource.to_str_lossy();
        // Converts the name like `title_case`.
        let mut letters = resource.to_ascii_lowercase();
        if let Some(first) = letters.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let value = |name: &str| {
            let both = Context::new(world).my(job).target(slot);
            let value = match job.contains(name) {
                true => both.eval_attr(name),
                false => Context::new(world).my(slot).target(job).eval_attr(name),
            };
            matches!(value, Value::Error | Value::Bool(_) | Value::Int(_) | Value::Real(_)).then_some(value)
        };
        if let Some(value) = value(&resource) {
            found.run_attributes.set(format!("{letters}Provisioned").as_str(), value);
        }
        let request = format!("Request{letters}");
        if let Some(value) = value(&request) {
            found.run_attributes.set(request.as_str(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::format::long;
    use htc_os::RealWorld;

    const SLOT: &str = "MachineResources = \"Cpus Memory GPUs\"\nCpus = 2\nMemory = 512\nGPUs = 1\nArch = \"X86_64\"\nPlace = strcat(\"a\", Arch)\n\
                        Quoted = \"say \\\"x\\\"\"\nNegotiatorMatchExprNegotiationGroup = \"g\"\n";

    fn ad(text: &str) -> ClassAd {
        long::parse(text.as_bytes()).0
    }

    fn run(job: &str, slot: Option<&str>) -> Result<(ClassAd, ClassAd), String> {
        let slot = slot.map(ad);
        let found = expand_for_slot(&ad(job), slot.as_ref(), &RealWorld::new());
        found
            .map(|found| (found.run_attributes, found.queue_attributes))
            .map_err(|missing| missing.to_string())
    }

    fn expanded(job: &str) -> String {
        let (expanded, _) = run(&format!("A = {job}\n"), Some(SLOT)).unwrap();
        expanded.get("A").map_or_else(String::new, |expr| expr.unparse_old().to_string())
    }

    #[test]
    fn the_queue_keeps_the_reference_and_its_value() {
        // The expected values were recorded from 25.14.
        let job = "Environment = \"T_A=$$(Cpus) T_B=14\"\nRequestMemory = 200 + 56\n";
        let (run_attributes, queue_attributes) = run(job, Some(SLOT)).unwrap();
        let text = |ad: &ClassAd| String::from_utf8(long::print(ad)).unwrap();
        assert_eq!(
            text(&run_attributes),
            "CpusProvisioned = 2\nEnvironment = \"T_A=2 T_B=14\"\nGpusProvisioned = 1\nMemoryProvisioned = 512\n\
             NegotiatorMatchExprNegotiationGroup = \"g\"\nProvisionedResources = \"Cpus Memory GPUs\"\nRequestMemory = 256\n"
        );
        assert_eq!(
            text(&queue_attributes),
            "MATCH_Cpus = 2\nMATCH_EXP_Environment = \"T_A=2 T_B=14\"\nMATCH_EXP_NegotiatorMatchExprNegotiationGroup = \"g\"\n"
        );
    }

    #[test]
    fn names_give_the_text_and_expressions_the_value() {
        assert_eq!(expanded("\"$$(arch)/$$(Nope:none at all)\""), "\"X86_64/none at all\"");
        assert_eq!(expanded("\"$$([ TARGET.Cpus * 2 ]) $$([MY.A =?= undefined])\""), "\"4 false\"");
        assert_eq!(expanded("\"$$([strcat(\\\"<\\\", Arch, \\\">\\\")])\""), "\"<X86_64>\"");
        // The text of an expression is inserted unevaluated. If its quotes end the surrounding string, the result is
        // not a valid expression, and the attribute remains unchanged.
        assert_eq!(expanded("\"$$(Place)\""), "");
        assert_eq!(expanded("\"$$(Quoted)\""), "\"say \\\"x\\\"\"");
        assert_eq!(
            expanded("\"$$(DOLLARDOLLAR)(Arch) $$$(Arch) $(Arch)\""),
            "\"$$(Arch) $$$(Arch) $(Arch)\""
        );
        assert_eq!(expanded("7"), "");
    }

    #[test]
    fn a_reference_without_a_value_holds_the_job() {
        for (text, name) in [
            ("$$(Nope)", "Nope"),
            ("$$(My.Cpus)", "My.Cpus"),
            ("$$([Nope])", "[Nope]"),
            ("$$([ ( ])", "[ ( ]"),
            ("$$(Arch) $$(Nope)", "Nope"),
        ] {
            let reason = run(&format!("A = \"{text}\"\n"), Some(SLOT)).unwrap_err();
            assert_eq!(reason, format!("Cannot expand $$ expression ({name})."));
        }
    }

    #[test]
    fn without_a_slot_ad_the_last_match_is_used() {
        let job = "A = \"$$(Cpus)\"\nMATCH_EXP_A = \"7\"\nB = \"$$(Memory)\"\nMATCH_Memory = 9\nC = \"$$([1 + 1])\"\n";
        let (run_attributes, queue_attributes) = run(job, None).unwrap();
        let text = |name: &str| run_attributes.string(name).unwrap().to_string();
        assert_eq!([text("A"), text("B"), text("C")], ["7", "9", "2"]);
        assert!(
            !queue_attributes.contains("MATCH_Memory") && !run_attributes.contains("ProvisionedResources")
        );
    }
}
