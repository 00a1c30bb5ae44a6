//! Attributes to which conditions refer (reference: condor_utils/expr_analyze.cpp, condor_q.V6/jobmatch.cpp).

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};

use super::condor_q_clauses::InlineAttributes;
use crate::classad::references::{self, ReferenceSpelling};
use crate::classad::{AttrName, ClassAd, Context, Expr};
use crate::cli::common::{ColumnFlags, ColumnSpec, PrintMask, Separators};
use crate::world::World;

/// Returns the attributes of other ads that an expression reads, without their scope (`TrimReferenceNames`).
fn external_names(expr: &Expr, ad: &ClassAd, world: &dyn World) -> Option<BTreeSet<AttrName>> {
    let names = references::external(expr, Context::new(world).my(ad), ReferenceSpelling::Full)?;
    let trim = |name: &AttrName| {
        let text = name.as_bytes();
        let scopes: [&[u8]; 5] = [b"target.", b"other.", b".left.", b".right.", b"."];
        let scope = scopes
            .into_iter()
            .find(|scope| text.get(..scope.len()).is_some_and(|start| start.eq_ignore_ascii_case(scope)));
        let rest = &text[scope.map_or(0, <[u8]>::len)..];
        AttrName::from(&rest[..rest.find_byteset(b".[").unwrap_or(rest.len())])
    };
    Some(names.iter().map(trim).collect())
}

fn internal_names(expr: &Expr, ad: &ClassAd, world: &dyn World) -> Option<BTreeSet<AttrName>> {
    let names = references::internal(expr, Context::new(world).my(ad))?;
    let trim = |name: &AttrName| {
        let text = name.as_bytes();
        let rest = text.strip_prefix(b".").unwrap_or(text);
        AttrName::from(&rest[..rest.find_byteset(b".[").unwrap_or(rest.len())])
    };
    Some(names.iter().map(trim).collect())
}

/// Writes lines of attributes.
struct AttributeLines {
    mask: PrintMask,
}

impl AttributeLines {
    fn new() -> Self {
        let mut mask = PrintMask::default();
        mask.separators =
            Separators { suffix: b"\n".to_vec(), row_suffix: b"\n".to_vec(), ..Separators::default() };
        AttributeLines { mask }
    }

    fn add(&mut self, label: &str, name: &[u8]) {
        let flags = ColumnFlags::default();
        let spec = ColumnSpec { expr: name, format: Some(label.as_bytes()), flags, ..ColumnSpec::default() };
        // For a name that is not a valid expression, only the label is printed.
        let _ = self.mask.add_column(&spec);
    }

    /// Appends the lines. Returns false if there are none.
    fn print(mut self, context: &Context<'_>, ad: &ClassAd, world: &dyn World, out: &mut Vec<u8>) -> bool {
        if self.mask.is_empty() {
            return false;
        }
        let row = self.mask.render(ad, context);
        self.mask.display(&row, world, out);
        true
    }
}

/// Appends the ad's own attributes to which an attribute refers, and returns the names to which it refers in other
/// ads (`AddReferencedAttribsToBuffer`).
pub(super) fn append_own_attributes(
    ad: &ClassAd,
    attribute: &str,
    hidden: &InlineAttributes,
    is_raw: bool,
    world: &dyn World,
    out: &mut Vec<u8>,
) -> BTreeSet<AttrName> {
    let expr = Expr::attribute(attribute.as_bytes());
    let (Some(mut others), Some(own)) = (external_names(&expr, ad, world), internal_names(&expr, ad, world))
    else {
        return BTreeSet::new();
    };
    if own.is_empty() && others.is_empty() {
        return others;
    }
    if others.contains(&AttrName::from("AvailableGPUs")) {
        others.insert(AttrName::from("GPUs"));
    }
    let mut lines = AttributeLines::new();
    for name in own.iter().filter(|name| !hidden.contains(*name)) {
        let unit = match name.as_bytes() {
            b"RequestDisk" => " (kb)",
            b"RequestMemory" => " (mb)",
            _ => "",
        };
        let letter = if is_raw { 'r' } else { 'V' };
        lines.add(&format!("    {name} = %{letter}{unit}"), name.as_bytes());
    }
    lines.print(&Context::new(world).my(ad), ad, world, out);
    others
}

/// Appends attributes of the target ad. Returns the name of the ad for the heading, or `None` if nothing was appended
/// (`AddTargetAttribsToBuffer`).
pub(super) fn append_target_attributes(
    names: &BTreeSet<AttrName>,
    ad: &ClassAd,
    target: &ClassAd,
    world: &dyn World,
    out: &mut Vec<u8>,
) -> Option<BString> {
    let mut lines = AttributeLines::new();
    for name in names {
        let Some(expr) = target.get(name.as_bytes()) else { continue };
        let unit = match name.as_bytes() {
            b"Disk" => " (kb)",
            b"Memory" => " (mb)",
            _ => "",
        };
        lines.add(&format!("    TARGET.{name} = %V{unit}"), name.as_bytes());
        let items = expr.as_list().unwrap_or_default();
        for item in items.iter().filter_map(Expr::as_attribute) {
            if target.contains(item.as_bytes()) {
                lines.add(&format!("       {item} = %V"), item.as_bytes());
            }
        }
    }
    if !lines.print(&Context::new(world).my(ad).target(target), ad, world, out) {
        return None;
    }
    let context = Context::new(world).my(target);
    Some(context.string("Name").unwrap_or_else(|| match context.int("ClusterId") {
        Some(cluster) => {
            format!("Job {}.{}", cluster as i32, context.int("ProcId").unwrap_or(0) as i32).into()
        }
        None => "Target".into(),
    }))
}
