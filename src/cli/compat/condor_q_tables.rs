//! Tables of `condor_q` with one line per job: all jobs, running, held, idle and grid jobs (reference:
//! condor_q.V6/queue.cpp, `jobDefault_PrintFormat` and similar; print_format_tables.cpp).

use bstr::{BStr, BString, ByteSlice};

use super::condor_q_list::{JobListing, fit_to_width, format_date};
use crate::classad::{ClassAd, Context, Value};
use crate::job::{JobId, Universe};

/// Set of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum JobTableColumns {
    /// Columns of `-nobatch`.
    #[default]
    Standard,
    /// Columns of `-run`.
    Running,
    /// Columns of `-hold`.
    Held,
    /// Columns of `-hold-codes`: one line per code and subcode.
    HoldCodes,
    /// Columns of `-idle`.
    Idle,
    /// Columns of `-grid`.
    Grid,
    /// Columns of `-grid:ec2`.
    GridEc2,
}

/// Time shown in the column RUN_TIME.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RunTime {
    /// Wall clock time of the current or last run.
    #[default]
    Current,
    /// Wall clock time of all runs (`-cumulative-time`).
    Cumulative,
    /// CPU time (`-cputime`).
    Cpu,
}

/// Alignment of a cell in its column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alignment {
    Left,
    Right,
}

/// Column with its minimum width.
#[derive(Clone, Copy)]
struct TableColumn {
    heading: &'static str,
    width: usize,
    align: Alignment,
    /// True if the column grows with its content; otherwise longer content is cut.
    grows: bool,
    /// True if no blank separates the column from the previous one.
    joined: bool,
}

const fn fixed_column(heading: &'static str, width: usize, align: Alignment) -> TableColumn {
    TableColumn { heading, width, align, grows: false, joined: false }
}

const fn growing_column(heading: &'static str, align: Alignment) -> TableColumn {
    TableColumn { heading, width: heading.len(), align, grows: true, joined: false }
}

/// Returns the last column, whose content is never cut.
const fn last_column(heading: &'static str) -> TableColumn {
    TableColumn { heading, width: 0, align: Alignment::Left, grows: true, joined: false }
}

const CLUSTER: TableColumn = fixed_column(" ID", 5, Alignment::Right);
const PROC: TableColumn = TableColumn { joined: true, ..fixed_column(" ", 3, Alignment::Left) };
const OWNER: TableColumn = fixed_column("OWNER", 14, Alignment::Left);
const SUBMITTED: TableColumn = fixed_column("  SUBMITTED", 11, Alignment::Right);
const RUN_TIME: TableColumn = fixed_column("    RUN_TIME", 12, Alignment::Right);
const CPU_TIME: TableColumn = fixed_column("    CPU_TIME", 12, Alignment::Right);

/// Content of a cell.
enum TableCell {
    /// Text, which may be empty.
    Text(BString),
    /// Text that is not cut, even if it is wider than its column.
    Uncut(BString),
    /// Text that is aligned to the left in any column.
    Mark(&'static str),
}

impl TableCell {
    fn or_blank(text: Option<impl Into<BString>>) -> Self {
        TableCell::Text(text.map(Into::into).unwrap_or_default())
    }

    /// Returns the text, or `[???]` as wide as the column.
    fn or_unknown(text: Option<impl Into<BString>>, column: &TableColumn) -> Self {
        match text {
            Some(text) => TableCell::Text(text.into()),
            None if column.width < 2 => TableCell::Text(BString::default()),
            None => TableCell::Text(format!("[{}]", "?".repeat(column.width - 2)).into()),
        }
    }

    /// Returns a value unchanged; a missing one is shown as undefined.
    fn value(value: &Value) -> Self {
        let text = value.as_str().map_or_else(|| value.unparse(), BString::from);
        match value {
            Value::Undefined | Value::Error => TableCell::Uncut(text),
            _ => TableCell::Text(text),
        }
    }

    fn text(&self) -> &BStr {
        match self {
            TableCell::Text(text) | TableCell::Uncut(text) => text.as_bstr(),
            TableCell::Mark(text) => BStr::new(text),
        }
    }
}

/// Returns the columns of a table.
fn columns_of(columns: JobTableColumns, time: RunTime) -> Vec<TableColumn> {
    let run_time = if time == RunTime::Cpu { CPU_TIME } else { RUN_TIME };
    let mut shape = vec![CLUSTER, PROC, OWNER];
    shape.extend(match columns {
        JobTableColumns::Standard => vec![
            SUBMITTED,
            run_time,
            fixed_column("ST", 2, Alignment::Left),
            growing_column("PRI", Alignment::Left),
            fixed_column("SIZE", 4, Alignment::Right),
            last_column("CMD"),
        ],
        JobTableColumns::Running => vec![SUBMITTED, run_time, last_column("HOST(S)")],
        JobTableColumns::Held => vec![
            fixed_column("HELD_SINCE", 11, Alignment::Right),
            growing_column("CODE", Alignment::Right),
            TableColumn { joined: true, ..growing_column("/SUB", Alignment::Right) },
            last_column("HOLD_REASON"),
        ],
        JobTableColumns::Idle => vec![
            growing_column("UNIVERSE ", Alignment::Left),
            growing_column("CPUS", Alignment::Right),
            growing_column("MEMORY", Alignment::Right),
            growing_column("STARTS", Alignment::Right),
            last_column("LAST_HOST"),
        ],
        JobTableColumns::Grid => vec![
            fixed_column("STATUS", 10, Alignment::Left),
            fixed_column("GRID->MANAGER    HOST", 27, Alignment::Left),
            last_column("GRID_JOB_ID"),
        ],
        JobTableColumns::GridEc2 => vec![
            fixed_column("STATUS", 10, Alignment::Left),
            growing_column("INSTANCE ID", Alignment::Left),
            growing_column("CMD", Alignment::Left),
        ],
        JobTableColumns::HoldCodes => Vec::new(),
    });
    shape
}

impl JobListing<'_> {
    /// Adds one line per job.
    pub(super) fn write_jobs(&self, columns: JobTableColumns, time: RunTime, out: &mut Vec<u8>) {
        self.heading(out);
        if columns == JobTableColumns::HoldCodes {
            return self.write_hold_codes(out);
        }
        let mut shape = columns_of(columns, time);
        let mut rows: Vec<Vec<TableCell>> = Vec::new();
        let most = |number: fn(&JobId) -> i32| {
            self.selected_jobs.iter().map(|(id, _)| number(id)).max().unwrap_or(0)
        };
        let (cluster, proc) = (most(|id| id.cluster), most(|id| id.proc));
        let mut large = cluster >= 9999 || proc >= 999;
        let mut most_memory = 0.0_f64;
        let mut longest_owner = 0;
        for (id, ad) in self.selected_jobs {
            let context = Context::new(self.world).my(ad);
            let owner = context.string("Owner");
            longest_owner = longest_owner.max(owner.as_ref().map_or(0, |owner| owner.len()));
            most_memory = most_memory.max(memory(&context).unwrap_or(0.0));
            let mut row = vec![
                TableCell::Text(format!("{}.", id.cluster).into()),
                TableCell::Text(id.proc.to_string().into()),
                // The grid table leaves a missing owner blank.
                if matches!(columns, JobTableColumns::Grid | JobTableColumns::GridEc2) {
                    TableCell::or_blank(owner)
                } else {
                    TableCell::or_unknown(owner, &OWNER)
                },
            ];
            row.extend(self.job_cells((columns, time), ad, &context, &shape));
            rows.push(row);
        }
        large |= longest_owner > OWNER.width;
        // Lines of held jobs are never cut.
        let cut = self.columns.filter(|_| columns != JobTableColumns::Held);
        // With large IDs or long names, IDs and sizes get the width they need, except with CPU times.
        if large && time != RunTime::Cpu {
            shape[0].width = shape[0].width.max(cluster.to_string().len() + 1);
            shape[1].width = shape[1].width.max(proc.to_string().len());
            if let (JobTableColumns::Standard, Some(size)) = (columns, shape.get_mut(7)) {
                size.width = size.width.max(format!("{most_memory:.1}").len());
            }
            // If lines are cut, names get the width beyond the 80th column.
            let room = cut.and_then(|columns| usize::try_from(columns - 80).ok()).unwrap_or(0);
            shape[2].width = shape[2].width.max(longest_owner.min(OWNER.width + room));
        }
        write_table(&mut shape, &rows, (cut, self.columns.is_none()), out);
        if matches!(columns, JobTableColumns::Standard | JobTableColumns::Held) {
            self.write_totals(out);
        }
    }

    /// Returns the cells after ID and owner of a job.
    fn job_cells(
        &self,
        (columns, time): (JobTableColumns, RunTime),
        ad: &ClassAd,
        context: &Context<'_>,
        shape: &[TableColumn],
    ) -> Vec<TableCell> {
        match columns {
            JobTableColumns::Standard => self.standard_cells(ad, context, time),
            JobTableColumns::Running => vec![
                TableCell::or_unknown(self.format_date_attribute(context, "QDate"), &shape[3]),
                TableCell::or_unknown(self.run_time(context, time), &shape[4]),
                TableCell::or_blank(self.host_name(context)),
            ],
            JobTableColumns::Held => self.held_cells(ad, context, &shape[3]),
            JobTableColumns::Idle => idle_cells(ad, context),
            JobTableColumns::Grid => {
                let resource = context.string("GridResource");
                vec![
                    TableCell::or_blank(grid_status(context)),
                    TableCell::or_blank(resource.map(|resource| grid_resource(&resource, context))),
                    TableCell::or_blank(grid_job_id(context)),
                ]
            }
            JobTableColumns::GridEc2 => vec![
                TableCell::or_blank(grid_status(context)),
                TableCell::or_blank(grid_job_id(context)),
                TableCell::or_blank(context.string("Cmd")),
            ],
            JobTableColumns::HoldCodes => Vec::new(),
        }
    }

    /// Adds one line per hold code and subcode, with the first job that has them (`reduce_holds`).
    fn write_hold_codes(&self, out: &mut Vec<u8>) {
        let since = fixed_column("HELD_SINCE", 11, Alignment::Right);
        let mut shape = vec![
            OWNER,
            growing_column("CODE", Alignment::Right),
            TableColumn { joined: true, ..growing_column("/SUB", Alignment::Right) },
            growing_column("   COUNT ", Alignment::Right),
            growing_column("OLDEST_JOB_ID", Alignment::Left),
            since,
            last_column("HOLD_REASON"),
        ];
        // The codes are compared as texts.
        let mut jobs: Vec<_> =
            self.selected_jobs.iter().map(|job| (self.hold_code_key(&job.1), job)).collect();
        jobs.sort_by(|(a, (one, _)), (b, (other, _))| a.cmp(b).then_with(|| one.cmp(other)));
        let mut rows: Vec<Vec<TableCell>> = Vec::new();
        let mut counts: Vec<i64> = Vec::new();
        let mut former = None;
        for (_, (id, ad)) in jobs {
            let context = Context::new(self.world).my(ad);
            let code = context.int("HoldReasonCode");
            let codes = code.map(|code| (code, context.int("HoldReasonSubCode").unwrap_or(-1)));
            match (codes, counts.last_mut()) {
                (Some(_), Some(count)) if codes == former => {
                    *count += 1;
                    continue;
                }
                // A job without a code is not part of a group: its state is shown instead of a count.
                (None, _) => counts.push(context.int("JobStatus").unwrap_or(0)),
                (Some(_), _) => {
                    former = codes;
                    counts.push(1);
                }
            }
            let mut row = vec![TableCell::or_unknown(context.string("Owner"), &OWNER)];
            let mut held = self.held_cells(ad, &context, &since).into_iter();
            let when = held.next();
            row.extend(held.by_ref().take(2));
            row.push(TableCell::Text(BString::default()));
            row.push(TableCell::Text(id.to_string().into()));
            row.extend(when);
            row.extend(held);
            rows.push(row);
        }
        for (row, count) in rows.iter_mut().zip(counts) {
            row[3] = TableCell::Text(format!("{count:9}").into());
        }
        write_table(&mut shape, &rows, (None, self.columns.is_none()), out);
    }

    /// Returns hold code and subcode as the text by which jobs are grouped.
    fn hold_code_key(&self, ad: &ClassAd) -> BString {
        let context = Context::new(self.world).my(ad);
        let text = |name: &str| attribute_value(ad, &context, name).unparse();
        [text("HoldReasonCode").as_slice(), b"\n", &text("HoldReasonSubCode"), b"\n"].concat().into()
    }

    fn standard_cells(&self, ad: &ClassAd, context: &Context<'_>, time: RunTime) -> Vec<TableCell> {
        vec![
            TableCell::or_blank(self.format_date_attribute(context, "QDate")),
            TableCell::or_blank(self.run_time(context, time)),
            TableCell::or_blank(self.status_text(context)),
            TableCell::value(&attribute_value(ad, context, "JobPrio")),
            TableCell::or_blank(memory(context).map(|size| format!("{size:.1}"))),
            TableCell::or_blank(description(context)),
        ]
    }

    fn held_cells(&self, ad: &ClassAd, context: &Context<'_>, since: &TableColumn) -> Vec<TableCell> {
        let code = context.int("HoldReasonCode");
        vec![
            TableCell::or_unknown(self.format_date_attribute(context, "EnteredCurrentStatus"), since),
            code.map_or(TableCell::Mark("?"), |code| TableCell::Text(format!("{code:4}").into())),
            TableCell::or_blank(context.int("HoldReasonSubCode").map(|code| format!("/{code:<3}"))),
            TableCell::value(&attribute_value(ad, context, "HoldReason")),
        ]
    }

    fn format_date_attribute(&self, context: &Context<'_>, name: &str) -> Option<String> {
        context.int(name).map(|seconds| format_date(seconds, self.world))
    }

    /// Returns the content of RUN_TIME, or `None` for a job without a recorded CPU time.
    fn run_time(&self, context: &Context<'_>, time: RunTime) -> Option<String> {
        let cpu = context.real("RemoteUserCpu")?;
        let real = |name: &str| context.real(name).unwrap_or(0.0);
        let status = context.int("JobStatus").unwrap_or(0);
        let former = if time == RunTime::Cumulative { real("RemoteWallClockTime") } else { 0.0 };
        let seconds = match (status, context.int("ShadowBday").unwrap_or(0)) {
            _ if time == RunTime::Cpu => cpu,
            (2 | 6 | 7, begun) if begun != 0 => {
                let now = context.int("ServerTime").unwrap_or_else(|| self.world.now().epoch());
                former + now.saturating_sub(begun) as f64
            }
            (1 | 5 | 9, _) if time == RunTime::Current => real("LastRemoteWallClockTime"),
            _ => former,
        } as i64;
        let (days, rest) = (seconds / 86_400, seconds % 86_400);
        Some(format!("{days:3}+{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60))
    }

    /// Returns the letter of JobStatus, with the state of the job's file transfer.
    fn status_text(&self, context: &Context<'_>) -> Option<String> {
        let status = context.int("JobStatus")?;
        let is = |name: &str| context.boolean(name).unwrap_or(false);
        let letter = usize::try_from(status).ok().and_then(|at| b"UIRXCH>S".get(at)).copied().unwrap_or(b' ');
        let mut text = [letter, b' '];
        let queued = if is("TransferQueued") { b'q' } else { b' ' };
        if is("TransferringInput") {
            text = [b'<', queued];
        }
        if is("TransferringOutput") || status == 6 {
            text = [queued, b'>'];
        }
        if context.int("JobCoolDownExpiration").is_some_and(|end| end > self.world.now().epoch()) {
            text[1] = b'c';
        }
        Some(text.map(char::from).iter().collect())
    }

    /// Returns the host on which a job runs.
    fn host_name(&self, context: &Context<'_>) -> Option<BString> {
        match context.int("JobUniverse").and_then(Universe::from_number) {
            Some(Universe::Scheduler | Universe::Local) => {
                let view = self.config.view(self.world);
                view.text("FULL_HOSTNAME")
            }
            Some(Universe::Grid) => {
                context.string("EC2RemoteVirtualMachineName").or_else(|| context.string("GridResource"))
            }
            // The name of an address is not looked up.
            _ => context.string("RemoteHost").map(|host| match host.starts_with(b"<127.0.0.1:") {
                true => "localhost".into(),
                false if host.starts_with(b"<") => BString::default(),
                false => host,
            }),
        }
    }
}

/// Writes headings and rows, cut to a number of columns or without trailing blanks. Growing columns are as
/// wide as their content.
fn write_table(
    shape: &mut [TableColumn],
    rows: &[Vec<TableCell>],
    (cut, is_trimmed): (Option<i64>, bool),
    out: &mut Vec<u8>,
) {
    for row in rows {
        for (column, cell) in shape.iter_mut().zip(row) {
            if let (true, 1.., TableCell::Text(text)) = (column.grows, column.width, cell) {
                column.width = column.width.max(text.chars().count());
            }
        }
    }
    let mut heading = Vec::new();
    for (at, column) in shape.iter().enumerate() {
        if at > 0 && !column.joined {
            heading.push(b' ');
        }
        push_padded(column.heading.into(), column.width, Alignment::Left, &mut heading);
    }
    out.extend_from_slice(fit_to_width(&heading, cut));
    out.push(b'\n');
    for row in rows {
        let mut line = Vec::new();
        write_row(shape, row, &mut line);
        let line = fit_to_width(&line, cut);
        out.extend_from_slice(if is_trimmed { line.trim_end_with(|letter| letter == ' ') } else { line });
        out.push(b'\n');
    }
}

/// Writes a row; a text longer than its column is cut unless the column grows or the cell is uncut.
fn write_row(shape: &[TableColumn], row: &[TableCell], out: &mut Vec<u8>) {
    for (at, (column, cell)) in shape.iter().zip(row).enumerate() {
        if at > 0 && !column.joined {
            out.push(b' ');
        }
        let text = cell.text();
        let keeps = column.grows || column.width == 0 || matches!(cell, TableCell::Uncut(_));
        let end = text.char_indices().nth(column.width).map(|(start, ..)| start).filter(|_| !keeps);
        let align = if matches!(cell, TableCell::Mark(_)) { Alignment::Left } else { column.align };
        push_padded(text[..end.unwrap_or(text.len())].as_bstr(), column.width, align, out);
    }
}

fn push_padded(text: &BStr, width: usize, align: Alignment, out: &mut Vec<u8>) {
    let blanks = width.saturating_sub(text.chars().count());
    if align == Alignment::Right {
        out.resize(out.len() + blanks, b' ');
    }
    out.extend_from_slice(text);
    if align == Alignment::Left {
        out.resize(out.len() + blanks, b' ');
    }
}

fn attribute_value(ad: &ClassAd, context: &Context<'_>, name: &str) -> Value {
    ad.get(name).map_or(Value::Undefined, |expr| context.eval(&expr))
}

/// Returns the memory in MB: that used by the job, otherwise the size of its image.
fn memory(context: &Context<'_>) -> Option<f64> {
    let image = || context.int("ImageSize").map(|size| size as f64 / 1024.0);
    context.int("MemoryUsage").map(|size| size as f64).or_else(image)
}

/// Returns the description of a job, or its command line.
fn description(context: &Context<'_>) -> Option<BString> {
    let command = context.string("Cmd")?;
    let description = context.string("MATCH_EXP_JobDescription").or_else(|| context.string("JobDescription"));
    if let Some(description) = description.filter(|text| !text.is_empty()) {
        return Some([b"(", description.as_slice(), b")"].concat().into());
    }
    let mut text = BString::from(command.rsplit_str("/").next().unwrap_or_default());
    let arguments = context.string("Arguments").or_else(|| context.string("Args")).unwrap_or_default();
    if !arguments.is_empty() {
        text.push(b' ');
        text.extend_from_slice(&arguments);
    }
    Some(text)
}

fn idle_cells(ad: &ClassAd, context: &Context<'_>) -> Vec<TableCell> {
    let number = |name: &str, width: usize| {
        TableCell::or_blank(context.int(name).map(|number| format!("{number:width$}")))
    };
    let universe = context
        .int("JobUniverse")
        .map(|number| Universe::from_number(number).map_or("Unknown", Universe::name));
    vec![
        TableCell::or_blank(universe),
        number("RequestCpus", 4),
        number("RequestMemory", 6),
        TableCell::Text(format!("{:6}", context.int("NumShadowStarts").unwrap_or(0)).into()),
        TableCell::value(&attribute_value(ad, context, "LastRemoteHost")),
    ]
}

/// Returns the state of a grid job as its resource reports it (`render_grid_status`).
fn grid_status(context: &Context<'_>) -> Option<BString> {
    if let Some(text) = context.string("GridJobStatus") {
        return Some(text);
    }
    let number = context.int("GridJobStatus")?;
    let name = match number {
        1 => "IDLE",
        2 => "RUNNING",
        3 => "REMOVED",
        4 => "COMPLETED",
        5 => "HELD",
        6 => "XFER_OUT",
        7 => "SUSPENDED",
        8 => "FAILED",
        9 => "BLOCKED",
        10 => "PREPARING",
        _ => return Some(number.to_string().into()),
    };
    Some(name.into())
}

/// Formats a GridResource as `TYPE->MANAGER HOST` (`local_render_grid_resource`).
fn grid_resource(resource: &[u8], context: &Context<'_>) -> BString {
    let (kind, rest) = match resource.find_byte(b' ') {
        Some(blank) => (&resource[..blank], &resource[blank + 1..]),
        None => (b"globus".as_slice(), resource),
    };
    // The manager follows the host, or is part of the address.
    let (manager, end) = match rest.find_byte(b' ') {
        Some(blank) => (&rest[blank + 1..], blank),
        None => match rest.find("jobmanager-") {
            Some(at) => (&rest[at + "jobmanager-".len()..], at),
            None => (b"[?]".as_slice(), rest.len()),
        },
    };
    let start = rest.find("://").map_or(0, |at| at + 3);
    let stop = rest[start..].find_byteset(b":/").map_or(rest.len(), |at| start + at).min(end);
    let host = rest.get(start..stop).unwrap_or_default();
    if kind == b"ec2" {
        let machine = context.string("EC2RemoteVirtualMachineName");
        let host: &[u8] = machine.as_ref().map_or(host, |name| name.as_slice());
        return [b"ec2 ", host].concat().into();
    }
    [kind, b"->", &manager.replace(" ", "/"), b" ", host].concat().into()
}

/// Returns the last part of a GridJobId (`render_grid_job_id`).
fn grid_job_id(context: &Context<'_>) -> Option<BString> {
    let id = context.string("GridJobId")?;
    let start = id.rfind_byte(b' ').map_or(0, |blank| blank + 1);
    let host = id[start..].find("://").map_or(start, |at| start + at + 3);
    let end = id[host..].find_byte(b'/').map_or(host, |at| host + at);
    let kind = context.string("GridResource").unwrap_or_else(|| "globus".into());
    let kind = kind.split(|byte| *byte == b' ').next().unwrap_or_default();
    if !matches!(kind, b"gt5" | b"gt2") {
        return Some(id[end..].into());
    }
    // Formats `/JOB/NUMBER/` as JOB.NUMBER.
    let path = id[end..].strip_prefix(b"/").unwrap_or(&id[end..]);
    let mut parts = path.splitn(3, |byte| *byte == b'/');
    let mut text = BString::from(parts.next().unwrap_or_default());
    if let Some(number) = parts.next() {
        text.push(b'.');
        text.extend_from_slice(number);
    }
    Some(text)
}
