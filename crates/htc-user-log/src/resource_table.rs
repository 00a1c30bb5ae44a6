//! Table of resources at the end of events 004 and 005 (`formatUsageAd`).

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};

use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr, Value};

/// Row of one resource. The fields are the displayed texts; an empty field is displayed as blanks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRow {
    /// Name with its unit, such as `Memory (MB)`.
    pub label: BString,
    /// Amount used.
    pub usage: BString,
    /// Amount requested.
    pub request: BString,
    /// Amount allocated.
    pub allocated: BString,
    /// Names of the assigned devices, such as GPUs.
    pub assigned: BString,
}

/// Table of all resources, in byte order of their names, ignoring case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceTable {
    /// Rows of the table, one for each resource.
    pub rows: Vec<ResourceRow>,
    /// True if the column of allocated amounts has a title.
    pub has_allocated: bool,
    /// True if there is a column of assigned devices.
    pub has_assigned: bool,
    /// Contents of the table as attributes of the event's ad: names and texts of the values.
    pub attributes: Vec<(BString, BString)>,
}

/// Beginning of the table's title line.
const TITLE: &[u8] = b"\tPartitionable Resources :";

impl ResourceTable {
    /// Appends the table's lines.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        let max_width =
            |cell_width: &dyn Fn(&ResourceRow) -> usize| self.rows.iter().map(cell_width).max().unwrap_or(0);
        let usage = max_width(&|row| row.usage.len()).max(8);
        let request = max_width(&|row| row.request.len()).max(8);
        let allocated = max_width(&|row| row.allocated.len()).max(9);
        let label = (max_width(&|row| label_length_without_unit(&row.label)) + 8).max(20);
        out.extend_from_slice(TITLE);
        let allocated_title = if self.has_allocated { "Allocated" } else { "" };
        let titles = [("Usage", usage), ("Request", request), (allocated_title, allocated)];
        for (title, width) in titles {
            out.push(b' ');
            append_right_aligned(out, title.as_bytes(), width);
        }
        out.push(b' ');
        if self.has_assigned {
            out.extend_from_slice(b"Assigned");
        }
        out.push(b'\n');
        for row in &self.rows {
            out.extend_from_slice(b"\t   ");
            out.extend_from_slice(&row.label);
            out.resize(out.len() + label.saturating_sub(row.label.len()), b' ');
            out.extend_from_slice(b" :");
            for (value, width) in [(&row.usage, usage), (&row.request, request), (&row.allocated, allocated)]
            {
                out.push(b' ');
                append_right_aligned(out, value, width);
            }
            out.push(b' ');
            out.extend_from_slice(&row.assigned);
            out.push(b'\n');
        }
    }

    /// Builds the table from the attributes `Request<R>`, `Assigned<R>`, `<R>Usage`, `<R>AverageUsage` and `<R>` of an
    /// ad that contains no other attributes. Returns `None` if the ad is empty.
    fn from_usage_ad(ad: &ClassAd) -> Option<Self> {
        let mut rows: BTreeMap<Vec<u8>, (BString, [TableCell; 4])> = BTreeMap::new();
        for (name, expr) in ad.in_ad_order() {
            let (column, resource) = column_and_resource(name);
            let key = resource.to_ascii_lowercase();
            let (_, cells) = rows.entry(key).or_insert_with(|| (resource.into(), Default::default()));
            cells[column] = TableCell::new(&expr);
        }
        rows.remove(&b""[..]);
        let fractions: [bool; 4] =
            std::array::from_fn(|column| rows.values().any(|(_, cells)| cells[column].has_fraction));
        let rows: Vec<ResourceRow> = rows
            .into_values()
            .map(|(name, cells)| {
                let [usage, request, allocated, assigned] = cells;
                ResourceRow {
                    label: [name.as_slice(), resource_unit(&name)].concat().into(),
                    usage: usage.into_padded(fractions[0]),
                    request: request.into_padded(fractions[1]),
                    allocated: allocated.into_padded(fractions[2]),
                    assigned: assigned.into_padded(fractions[3]),
                }
            })
            .collect();
        let has_allocated = rows.iter().any(|row| !row.allocated.is_empty());
        let has_assigned = rows.iter().any(|row| !row.assigned.is_empty());
        let values = ad.sorted().into_iter().map(|(name, expr)| (name.into(), expr.unparse_old())).collect();
        (!rows.is_empty()).then_some(ResourceTable { rows, has_allocated, has_assigned, attributes: values })
    }

    /// Builds the table of a job that has ended, with the provisioned, requested and used amounts from its ad
    /// (`setEventUsageAd`). The resources are those of `ProvisionedResources` (default: Cpus, Disk, Memory).
    pub fn from_job_ad(ad: &ClassAd, world: &dyn World) -> Option<Self> {
        let context = Context::new(world).my(ad);
        let listed = context.string("ProvisionedResources").unwrap_or_else(|| "Cpus, Disk, Memory".into());
        let mut usage = ClassAd::new();
        let copy = |usage: &mut ClassAd, from: &[u8], to: &[u8]| {
            let value = context.eval_attr(from);
            if matches!(value, Value::Error | Value::Bool(_) | Value::Int(_) | Value::Real(_))
                && ad.contains(from)
            {
                usage.insert(to, Expr::literal(value));
            }
        };
        for resource in list::split(&listed) {
            let mut title = resource.to_ascii_lowercase();
            title[..1].make_ascii_uppercase();
            let name = |before: &str, after: &str| [before.as_bytes(), &title, after.as_bytes()].concat();
            copy(&mut usage, &name("", "Provisioned"), resource);
            for (before, after) in [
                ("Request", ""),
                ("", "Usage"),
                ("", "AverageUsage"),
                ("", "MemoryUsage"),
                ("", "MemoryAverageUsage"),
            ] {
                copy(&mut usage, &name(before, after), &name(before, after));
            }
            let assigned = name("Assigned", "");
            if let Some(expr) = ad.get(&assigned) {
                usage.insert(&assigned, expr);
            }
        }
        for (from, to) in
            [("ActivationExecutionDuration", "TimeExecuteUsage"), ("ActivationDuration", "TimeSlotBusyUsage")]
        {
            if let Some(seconds) = context.int(from) {
                usage.set(to, seconds);
            }
        }
        Self::from_usage_ad(&usage)
    }

    /// Parses a table from its lines, of which the first is the title. Returns `None` if the lines are not a table.
    pub fn parse(lines: &[BString]) -> Option<Self> {
        let (title, rows) = lines.split_first()?;
        let head = title.strip_prefix(TITLE)?;
        let end = |word: &[u8]| head.find(word).map(|at| at + word.len());
        let has_assigned = head.find(b"Assigned").is_some();
        let has_allocated = head.find(b"Allocated").is_some();
        let request = end(b"Request")?;
        let ends = [end(b"Usage")?, request, end(b"Allocated").unwrap_or(request + 10)];
        let mut table =
            ResourceTable { rows: Vec::new(), has_allocated, has_assigned, attributes: Vec::new() };
        for row in rows {
            let row = row.strip_prefix(b"\t   ")?;
            let colon = row.find(b" :")?;
            let values = &row[colon + 2..];
            let cell = |from: usize, to: usize| -> BString {
                let to = to.min(values.len());
                let text = values.get(from.min(to)..to).unwrap_or_default();
                text.strip_prefix(b" ").unwrap_or(text).trim_start().into()
            };
            table.rows.push(ResourceRow {
                label: row[..colon].trim_end().into(),
                usage: cell(0, ends[0]),
                request: cell(ends[0], ends[1]),
                allocated: cell(ends[1], ends[2]),
                assigned: values.get(ends[2] + 1..).unwrap_or_default().into(),
            });
        }
        table.attributes = table.rows.iter().flat_map(ResourceRow::to_attributes).collect();
        Some(table)
    }
}

impl ResourceRow {
    /// Returns the values of a row as attributes (`UsageLineParser`).
    fn to_attributes(&self) -> impl Iterator<Item = (BString, BString)> {
        let tag = self.label.split(|byte| *byte == b' ').next().unwrap_or_default();
        let name =
            |before: &str, after: &str| BString::from([before.as_bytes(), tag, after.as_bytes()].concat());
        let values = [
            (name("", "Usage"), &self.usage),
            (name("Request", ""), &self.request),
            (name("", ""), &self.allocated),
            (name("Assigned", ""), &self.assigned),
        ];
        values.map(|(name, text)| (name, text.clone())).into_iter().filter(|(_, text)| !text.is_empty())
    }
}

/// Value in the form in which the table displays it.
#[derive(Default)]
struct TableCell {
    text: BString,
    has_fraction: bool,
}

impl TableCell {
    fn new(expr: &Expr) -> Self {
        match expr.as_literal() {
            // The reference does not treat negative fractions as fractions.
            Some(Value::Real(value)) if value.fract() > 0.0 => {
                TableCell { text: format!("{value:.2}").into(), has_fraction: true }
            }
            Some(Value::Real(value)) => {
                TableCell { text: format!("{}", value as i64).into(), has_fraction: false }
            }
            _ => TableCell { text: expr.unparse_old(), has_fraction: false },
        }
    }

    /// Pads a whole number with spaces in a column that contains fractions, to align the decimal points.
    fn into_padded(mut self, column_has_fraction: bool) -> BString {
        if column_has_fraction && !self.text.is_empty() && self.text.iter().all(u8::is_ascii_digit) {
            self.text.extend_from_slice(b"   ");
        }
        self.text
    }
}

/// Splits the name of an attribute into the number of the table's column and the name of the resource.
fn column_and_resource(name: &[u8]) -> (usize, &[u8]) {
    if let Some(resource) = name.strip_prefix(b"Request") {
        (1, resource)
    } else if let Some(resource) = name.strip_prefix(b"Assigned") {
        (3, resource)
    } else if let Some(resource) = name.strip_suffix(b"AverageUsage").or_else(|| name.strip_suffix(b"Usage"))
    {
        (0, resource)
    } else {
        (2, name)
    }
}

fn resource_unit(resource: &[u8]) -> &'static [u8] {
    match resource {
        b"Memory" | b"GpusMemory" => b" (MB)",
        b"Disk" => b" (KB)",
        b"Gpus" => b" (Average)",
        b"TimeExecute" | b"TimeSlotBusy" => b" (s)",
        _ => b"",
    }
}

/// Returns the length of a label without its unit, which determines the width of the column.
fn label_length_without_unit(label: &[u8]) -> usize {
    label.find(b" (").unwrap_or(label.len())
}

fn append_right_aligned(out: &mut Vec<u8>, text: &[u8], width: usize) {
    out.resize(out.len() + width.saturating_sub(text.len()), b' ');
    out.extend_from_slice(text);
}
