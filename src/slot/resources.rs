//! What a slot has: processors, memory, swap, disk and custom resources (`ResAttributes.cpp`).

use bstr::BString;

use crate::classad::{AttrName, ClassAd, Expr, Value};

/// Amounts of all resources of a slot, or of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Amounts {
    /// Processors.
    pub cpus: f64,
    /// Whether parts of processors may be shared out.
    pub fractional_cpus: bool,
    /// Memory in MiB.
    pub memory: i64,
    /// Swap space in KiB.
    pub swap: i64,
    /// Disk space in KiB.
    pub disk: i64,
    /// Custom resources, in the order of their names' definition.
    pub custom: Vec<Custom>,
}

/// A custom resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Custom {
    /// Its name, as configured.
    pub tag: String,
    /// How much of it; with ids, how many.
    pub quantity: f64,
    /// Whether the machine's instances have names.
    pub named: bool,
    /// Its instances, where they have names.
    pub ids: Vec<String>,
}

impl Amounts {
    /// Whole processors, as draining counts them.
    pub(super) fn whole_cpus(&self) -> i64 {
        (self.cpus + 0.1) as i64
    }

    /// Cpus as an attribute: an integer unless parts may be shared out.
    pub(super) fn cpus_value(&self) -> Value {
        if self.fractional_cpus { Value::Real(self.cpus) } else { Value::Int(self.whole_cpus()) }
    }

    /// What is left of a partitionable slot, what a static or dynamic one has. A broken slot offers nothing.
    pub(super) fn publish_dynamic(&self, ad: &mut ClassAd, broken: bool) {
        if broken {
            ad.set("Cpus", 0i64);
            ad.set("Memory", 0i64);
        } else {
            ad.insert(AttrName::from("Cpus"), Expr::literal(self.cpus_value()));
            ad.set("Memory", self.memory);
        }
        ad.set("Disk", self.disk);
        for custom in &self.custom {
            let quantity = if broken { 0 } else { custom.quantity as i64 };
            ad.set(custom.tag.as_str(), quantity);
            if custom.named {
                let references: Vec<String> =
                    custom.ids.iter().map(|id| format!("{}_{}", custom.tag, cleaned(id))).collect();
                let text = format!("{{ {} }}", references.join(","));
                if let Ok(expr) = Expr::parse(text.as_bytes()) {
                    ad.insert(AttrName::from(format!("Available{}", custom.tag).as_str()), expr);
                }
            }
        }
    }

    /// The unchanging amounts of a slot (`CpuAttributes::publish_static`): what it was made with.
    pub fn publish_static(&self, ad: &mut ClassAd) {
        ad.set("VirtualMemory", self.swap);
        ad.insert(AttrName::from("TotalSlotCpus"), Expr::literal(self.cpus_value()));
        ad.set("TotalSlotMemory", self.memory);
        ad.set("TotalSlotDisk", self.disk as f64);
        for custom in &self.custom {
            ad.set(format!("TotalSlot{}", custom.tag).as_str(), custom.quantity as i64);
            let assigned = AttrName::from(format!("Assigned{}", custom.tag).as_str());
            if custom.ids.is_empty() {
                ad.remove(&assigned);
            } else {
                ad.insert(assigned, Expr::literal(Value::from(BString::from(custom.ids.join(",")))));
            }
        }
    }

    /// Takes a part away; ids go with their numbers, from the front.
    pub(super) fn take(&mut self, part: &mut Amounts) {
        self.cpus -= part.cpus;
        self.memory -= part.memory;
        self.disk -= part.disk;
        for custom in &mut part.custom {
            let Some(mine) = self.custom.iter_mut().find(|mine| mine.tag == custom.tag) else { continue };
            mine.quantity -= custom.quantity;
            let count = (custom.quantity as usize).min(mine.ids.len());
            custom.ids = mine.ids.drain(..count).collect();
        }
    }

    /// Gives a part back; ids return to the place they had in `all`.
    pub(super) fn give_back(&mut self, part: &Amounts, all: &Amounts) {
        self.cpus += part.cpus;
        self.memory += part.memory;
        self.disk += part.disk;
        for custom in &part.custom {
            let Some(mine) = self.custom.iter_mut().find(|mine| mine.tag == custom.tag) else { continue };
            mine.quantity += custom.quantity;
            mine.ids.extend(custom.ids.iter().cloned());
            if let Some(whole) = all.custom.iter().find(|whole| whole.tag == custom.tag) {
                mine.ids.sort_by_key(|id| whole.ids.iter().position(|it| it == id));
            }
        }
    }
}

/// An id as part of an attribute's name: odd characters become `_`.
fn cleaned(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}
