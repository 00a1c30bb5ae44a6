//! Units of calculated sizes: `ResidentSetSize / 1024` is in MiB.

use bstr::BString;
use htc_base::world::World;
use htc_classad::{Expr, ExprKind};

use super::attribute_facts::find_facts;
use super::constants::constant_number;
use super::expression_parts::reference_name;

/// Unit of a size.
#[derive(Clone, Debug)]
pub(super) struct SizeUnit {
    /// Number of bytes in one unit.
    pub(super) bytes: f64,
    /// Attribute from which the size is calculated.
    pub(super) name: BString,
}

impl SizeUnit {
    /// Returns the name of the unit.
    pub(super) fn unit_name(&self) -> String {
        match self.bytes {
            bytes if bytes < 2.0 => "bytes".to_owned(),
            bytes if bytes < 2000.0 => "KiB".to_owned(),
            bytes if bytes < 2_000_000.0 => "MiB".to_owned(),
            bytes if bytes < 2_000_000_000.0 => "GiB".to_owned(),
            bytes => format!("units of {bytes} bytes"),
        }
    }

    fn scaled(self, factor: f64) -> SizeUnit {
        SizeUnit { bytes: self.bytes * factor, ..self }
    }
}

/// Maximum depth to which a calculation is examined.
const MAX_DEPTH: usize = 20;

/// Returns the unit of a size, or `None` if it is not known.
pub(super) fn size_unit(expr: &Expr, world: &dyn World, is_site: &dyn Fn(&[u8]) -> bool) -> Option<SizeUnit> {
    find_unit(expr, world, is_site, 0)
}

fn find_unit(
    expr: &Expr,
    world: &dyn World,
    is_site: &dyn Fn(&[u8]) -> bool,
    depth: usize,
) -> Option<SizeUnit> {
    if depth > MAX_DEPTH {
        return None;
    }
    let unit = |part: &Expr| find_unit(part, world, is_site, depth + 1);
    match expr.kind() {
        ExprKind::Reference => {
            let name = reference_name(expr).filter(|name| !is_site(name))?;
            let bytes = find_facts(&name)?.unit?.bytes_per_unit()?;
            Some(SizeUnit { bytes, name })
        }
        ExprKind::Other(parts) => {
            let [left, right] = &parts[..] else { return None };
            let (left_unit, right_unit) = (unit(left), unit(right));
            let (first, second) = (constant_number(left, world), constant_number(right, world));
            match (expr.operator()?, left_unit, right_unit) {
                ("*", Some(size), None) => Some(size.scaled(1.0 / unit_factor(second?)?)),
                ("*", None, Some(size)) => Some(size.scaled(1.0 / unit_factor(first?)?)),
                ("/", Some(size), None) => Some(size.scaled(unit_factor(second?)?)),
                ("+" | "-", Some(size), None) => second.map(|_| size),
                ("+" | "-", None, Some(size)) => first.map(|_| size),
                ("+" | "-", Some(a), Some(b)) => ((0.9..1.1).contains(&(a.bytes / b.bytes))).then_some(a),
                ("?:", Some(size), None) => second.map(|_| size),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the factor by which a number changes the unit of a size: the number itself if it converts units, 1 if it is
/// a share or a small multiple, or `None` if it may be either.
fn unit_factor(number: f64) -> Option<f64> {
    let units = [1024.0, 1000.0, 1_048_576.0, 1_000_000.0, 1_073_741_824.0, 1_000_000_000.0];
    match number {
        number if units.contains(&number) => Some(number),
        number if (0.01..=50.0).contains(&number) => Some(1.0),
        _ => None,
    }
}
