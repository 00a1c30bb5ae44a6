//! The tables of `condor_q` with one line a job: all jobs, running, held, idle and grid jobs (reference:
//! condor_q.V6/queue.cpp, `jobDefault_PrintFormat` and its like; print_format_tables.cpp).

use bstr::{BStr, BString, ByteSlice};

use super::condor_q_list::{List, date, fitting};
use crate::classad::{ClassAd, Context, Value};
use crate::job::{JobId, Universe};

/// Which columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Columns {
    /// Those of `-nobatch`.
    #[default]
    Any,
    /// Those of `-run`.
    Running,
    /// Those of `-hold`.
    Held,
    /// Those of `-hold-codes`: one line for each code and subcode.
    HoldCodes,
    /// Those of `-idle`.
    Idle,
    /// Those of `-grid`.
    Grid,
    /// Those of `-grid:ec2`.
    GridEc2,
}

/// What the column RUN_TIME shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RunTime {
    /// Wall clock of the present run, or of the last one.
    #[default]
    Current,
    /// Wall clock of all runs (`-cumulative-time`).
    Cumulative,
    /// CPU (`-cputime`).
    Cpu,
}

/// How a cell stands in its column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

/// A column: the widths are at least those given here.
#[derive(Clone, Copy)]
struct Column {
    heading: &'static str,
    width: usize,
    align: Align,
    /// Grows with what it shows; what is longer is cut otherwise.
    grows: bool,
    /// Stands right behind the one before it.
    joined: bool,
}

const fn column(heading: &'static str, width: usize, align: Align) -> Column {
    Column { heading, width, align, grows: false, joined: false }
}

const fn growing(heading: &'static str, align: Align) -> Column {
    Column { heading, width: heading.len(), align, grows: true, joined: false }
}

/// The last one: as long as it is.
const fn last(heading: &'static str) -> Column {
    Column { heading, width: 0, align: Align::Left, grows: true, joined: false }
}

const CLUSTER: Column = column(" ID", 5, Align::Right);
const PROC: Column = Column { joined: true, ..column(" ", 3, Align::Left) };
const OWNER: Column = column("OWNER", 14, Align::Left);
const SUBMITTED: Column = column("  SUBMITTED", 11, Align::Right);
const RUN_TIME: Column = column("    RUN_TIME", 12, Align::Right);
const CPU_TIME: Column = column("    CPU_TIME", 12, Align::Right);

/// What a cell shows.
enum Cell {
    /// Text, or nothing.
    Text(BString),
    /// What may be wider than its column and stays so.
    Uncut(BString),
    /// What stands on the left in any column.
    Mark(&'static str),
}

impl Cell {
    fn or_blank(text: Option<impl Into<BString>>) -> Self {
        Cell::Text(text.map(Into::into).unwrap_or_default())
    }

    /// `[???]`, as wide as the column.
    fn or_unknown(text: Option<impl Into<BString>>, column: &Column) -> Self {
        match text {
            Some(text) => Cell::Text(text.into()),
            None if column.width < 2 => Cell::Text(BString::default()),
            None => Cell::Text(format!("[{}]", "?".repeat(column.width - 2)).into()),
        }
    }

    /// A value as it is: what is missing shows as undefined.
    fn value(value: &Value) -> Self {
        let text = value.as_str().map_or_else(|| value.unparse(), BString::from);
        match value {
            Value::Undefined | Value::Error => Cell::Uncut(text),
            _ => Cell::Text(text),
        }
    }

    fn text(&self) -> &BStr {
        match self {
            Cell::Text(text) | Cell::Uncut(text) => text.as_bstr(),
            Cell::Mark(text) => BStr::new(text),
        }
    }
}

/// The columns of a table.
fn shape(columns: Columns, time: RunTime) -> Vec<Column> {
    let run_time = if time == RunTime::Cpu { CPU_TIME } else { RUN_TIME };
    let mut shape = vec![CLUSTER, PROC, OWNER];
    shape.extend(match columns {
        Columns::Any => vec![
            SUBMITTED,
            run_time,
            column("ST", 2, Align::Left),
            growing("PRI", Align::Left),
            column("SIZE", 4, Align::Right),
            last("CMD"),
        ],
        Columns::Running => vec![SUBMITTED, run_time, last("HOST(S)")],
        Columns::Held => vec![
            column("HELD_SINCE", 11, Align::Right),
            growing("CODE", Align::Right),
            Column { joined: true, ..growing("/SUB", Align::Right) },
            last("HOLD_REASON"),
        ],
        Columns::Idle => vec![
            growing("UNIVERSE ", Align::Left),
            growing("CPUS", Align::Right),
            growing("MEMORY", Align::Right),
            growing("STARTS", Align::Right),
            last("LAST_HOST"),
        ],
        Columns::Grid => vec![
            column("STATUS", 10, Align::Left),
            column("GRID->MANAGER    HOST", 27, Align::Left),
            last("GRID_JOB_ID"),
        ],
        Columns::GridEc2 => vec![
            column("STATUS", 10, Align::Left),
            growing("INSTANCE ID", Align::Left),
            growing("CMD", Align::Left),
        ],
        Columns::HoldCodes => Vec::new(),
    });
    shape
}

impl List<'_> {
    /// One line a job.
    pub(super) fn jobs(&self, columns: Columns, time: RunTime, out: &mut Vec<u8>) {
        self.heading(out);
        if columns == Columns::HoldCodes {
            return self.hold_codes(out);
        }
        let mut shape = shape(columns, time);
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        let most = |number: fn(&JobId) -> i32| self.kept.iter().map(|(id, _)| number(id)).max().unwrap_or(0);
        let (cluster, proc) = (most(|id| id.cluster), most(|id| id.proc));
        let mut large = cluster >= 9999 || proc >= 999;
        let mut most_memory = 0.0_f64;
        let mut longest_owner = 0;
        for (id, ad) in self.kept {
            let context = Context::new(self.world).my(ad);
            let owner = context.string("Owner");
            longest_owner = longest_owner.max(owner.as_ref().map_or(0, |owner| owner.len()));
            most_memory = most_memory.max(memory(&context).unwrap_or(0.0));
            let mut row = vec![
                Cell::Text(format!("{}.", id.cluster).into()),
                Cell::Text(id.proc.to_string().into()),
                // The grid table says nothing of a missing owner.
                if matches!(columns, Columns::Grid | Columns::GridEc2) {
                    Cell::or_blank(owner)
                } else {
                    Cell::or_unknown(owner, &OWNER)
                },
            ];
            row.extend(self.cells((columns, time), ad, &context, &shape));
            rows.push(row);
        }
        large |= longest_owner > OWNER.width;
        // Held jobs are not cut, whatever the width.
        let cut = self.columns.filter(|_| columns != Columns::Held);
        // Large ids and long names give ids and sizes the room they need, though never beside CPU times.
        if large && time != RunTime::Cpu {
            shape[0].width = shape[0].width.max(cluster.to_string().len() + 1);
            shape[1].width = shape[1].width.max(proc.to_string().len());
            if let (Columns::Any, Some(size)) = (columns, shape.get_mut(7)) {
                size.width = size.width.max(format!("{most_memory:.1}").len());
            }
            // Where lines are cut, names have what is beyond the 80th column.
            let room = cut.and_then(|columns| usize::try_from(columns - 80).ok()).unwrap_or(0);
            shape[2].width = shape[2].width.max(longest_owner.min(OWNER.width + room));
        }
        print(&mut shape, &rows, (cut, self.columns.is_none()), out);
        if matches!(columns, Columns::Any | Columns::Held) {
            self.totals(out);
        }
    }

    /// What stands behind id and owner of a job.
    fn cells(
        &self,
        (columns, time): (Columns, RunTime),
        ad: &ClassAd,
        context: &Context<'_>,
        shape: &[Column],
    ) -> Vec<Cell> {
        match columns {
            Columns::Any => self.any(ad, context, time),
            Columns::Running => vec![
                Cell::or_unknown(self.date(context, "QDate"), &shape[3]),
                Cell::or_unknown(self.run_time(context, time), &shape[4]),
                Cell::or_blank(self.host(context)),
            ],
            Columns::Held => self.held(ad, context, &shape[3]),
            Columns::Idle => idle(ad, context),
            Columns::Grid => {
                let resource = context.string("GridResource");
                vec![
                    Cell::or_blank(grid_status(context)),
                    Cell::or_blank(resource.map(|resource| grid_resource(&resource, context))),
                    Cell::or_blank(grid_job_id(context)),
                ]
            }
            Columns::GridEc2 => vec![
                Cell::or_blank(grid_status(context)),
                Cell::or_blank(grid_job_id(context)),
                Cell::or_blank(context.string("Cmd")),
            ],
            Columns::HoldCodes => Vec::new(),
        }
    }

    /// One line for each hold code and subcode, with the first job that has them (`reduce_holds`).
    fn hold_codes(&self, out: &mut Vec<u8>) {
        let since = column("HELD_SINCE", 11, Align::Right);
        let mut shape = vec![
            OWNER,
            growing("CODE", Align::Right),
            Column { joined: true, ..growing("/SUB", Align::Right) },
            growing("   COUNT ", Align::Right),
            growing("OLDEST_JOB_ID", Align::Left),
            since,
            last("HOLD_REASON"),
        ];
        // The codes are compared as texts.
        let mut jobs: Vec<_> = self.kept.iter().map(|job| (self.code_text(&job.1), job)).collect();
        jobs.sort_by(|(a, (one, _)), (b, (other, _))| a.cmp(b).then_with(|| one.cmp(other)));
        let mut rows: Vec<Vec<Cell>> = Vec::new();
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
                // A job without a code is none of a group: what stands for its count is its state.
                (None, _) => counts.push(context.int("JobStatus").unwrap_or(0)),
                (Some(_), _) => {
                    former = codes;
                    counts.push(1);
                }
            }
            let mut row = vec![Cell::or_unknown(context.string("Owner"), &OWNER)];
            let mut held = self.held(ad, &context, &since).into_iter();
            let when = held.next();
            row.extend(held.by_ref().take(2));
            row.push(Cell::Text(BString::default()));
            row.push(Cell::Text(id.to_string().into()));
            row.extend(when);
            row.extend(held);
            rows.push(row);
        }
        for (row, count) in rows.iter_mut().zip(counts) {
            row[3] = Cell::Text(format!("{count:9}").into());
        }
        print(&mut shape, &rows, (None, self.columns.is_none()), out);
    }

    /// Hold code and subcode as the text by which jobs are put together.
    fn code_text(&self, ad: &ClassAd) -> BString {
        let context = Context::new(self.world).my(ad);
        let text = |name: &str| value(ad, &context, name).unparse();
        [text("HoldReasonCode").as_slice(), b"\n", &text("HoldReasonSubCode"), b"\n"].concat().into()
    }

    fn any(&self, ad: &ClassAd, context: &Context<'_>, time: RunTime) -> Vec<Cell> {
        vec![
            Cell::or_blank(self.date(context, "QDate")),
            Cell::or_blank(self.run_time(context, time)),
            Cell::or_blank(self.status(context)),
            Cell::value(&value(ad, context, "JobPrio")),
            Cell::or_blank(memory(context).map(|size| format!("{size:.1}"))),
            Cell::or_blank(description(context)),
        ]
    }

    fn held(&self, ad: &ClassAd, context: &Context<'_>, since: &Column) -> Vec<Cell> {
        let code = context.int("HoldReasonCode");
        vec![
            Cell::or_unknown(self.date(context, "EnteredCurrentStatus"), since),
            code.map_or(Cell::Mark("?"), |code| Cell::Text(format!("{code:4}").into())),
            Cell::or_blank(context.int("HoldReasonSubCode").map(|code| format!("/{code:<3}"))),
            Cell::value(&value(ad, context, "HoldReason")),
        ]
    }

    fn date(&self, context: &Context<'_>, name: &str) -> Option<String> {
        context.int(name).map(|seconds| date(seconds, self.world))
    }

    /// What stands in RUN_TIME; nothing for a job whose use of CPU nobody has noted.
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

    /// The letter of JobStatus, with what becomes of the job's files.
    fn status(&self, context: &Context<'_>) -> Option<String> {
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

    /// Where a job runs.
    fn host(&self, context: &Context<'_>) -> Option<BString> {
        match context.int("JobUniverse").and_then(Universe::from_number) {
            Some(Universe::Scheduler | Universe::Local) => {
                let view = self.config.view(self.world);
                view.text("FULL_HOSTNAME")
            }
            Some(Universe::Grid) => {
                context.string("EC2RemoteVirtualMachineName").or_else(|| context.string("GridResource"))
            }
            // An address is not asked for its name.
            _ => context.string("RemoteHost").map(|host| match host.starts_with(b"<127.0.0.1:") {
                true => "localhost".into(),
                false if host.starts_with(b"<") => BString::default(),
                false => host,
            }),
        }
    }
}

/// Writes headings and rows, cut to so many columns or without the blanks at their ends; columns that grow are as wide as what they
/// show.
fn print(
    shape: &mut [Column],
    rows: &[Vec<Cell>],
    (cut, is_trimmed): (Option<i64>, bool),
    out: &mut Vec<u8>,
) {
    for row in rows {
        for (column, cell) in shape.iter_mut().zip(row) {
            if let (true, 1.., Cell::Text(text)) = (column.grows, column.width, cell) {
                column.width = column.width.max(text.chars().count());
            }
        }
    }
    let mut heading = Vec::new();
    for (at, column) in shape.iter().enumerate() {
        if at > 0 && !column.joined {
            heading.push(b' ');
        }
        padded(column.heading.into(), column.width, Align::Left, &mut heading);
    }
    out.extend_from_slice(fitting(&heading, cut));
    out.push(b'\n');
    for row in rows {
        let mut line = Vec::new();
        line_of(shape, row, &mut line);
        let line = fitting(&line, cut);
        out.extend_from_slice(if is_trimmed { line.trim_end_with(|letter| letter == ' ') } else { line });
        out.push(b'\n');
    }
}

/// Writes a row; what is longer than its column is cut unless that grows, or it is to stay as it is.
fn line_of(shape: &[Column], row: &[Cell], out: &mut Vec<u8>) {
    for (at, (column, cell)) in shape.iter().zip(row).enumerate() {
        if at > 0 && !column.joined {
            out.push(b' ');
        }
        let text = cell.text();
        let keeps = column.grows || column.width == 0 || matches!(cell, Cell::Uncut(_));
        let end = text.char_indices().nth(column.width).map(|(start, ..)| start).filter(|_| !keeps);
        let align = if matches!(cell, Cell::Mark(_)) { Align::Left } else { column.align };
        padded(text[..end.unwrap_or(text.len())].as_bstr(), column.width, align, out);
    }
}

fn padded(text: &BStr, width: usize, align: Align, out: &mut Vec<u8>) {
    let blanks = width.saturating_sub(text.chars().count());
    if align == Align::Right {
        out.resize(out.len() + blanks, b' ');
    }
    out.extend_from_slice(text);
    if align == Align::Left {
        out.resize(out.len() + blanks, b' ');
    }
}

fn value(ad: &ClassAd, context: &Context<'_>, name: &str) -> Value {
    ad.get(name).map_or(Value::Undefined, |expr| context.eval(&expr))
}

/// Megabytes: what the job uses, else what its image takes.
fn memory(context: &Context<'_>) -> Option<f64> {
    let image = || context.int("ImageSize").map(|size| size as f64 / 1024.0);
    context.int("MemoryUsage").map(|size| size as f64).or_else(image)
}

/// What a job does: its description, or its command line.
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

fn idle(ad: &ClassAd, context: &Context<'_>) -> Vec<Cell> {
    let number =
        |name: &str, width: usize| Cell::or_blank(context.int(name).map(|number| format!("{number:width$}")));
    let universe = context
        .int("JobUniverse")
        .map(|number| Universe::from_number(number).map_or("Unknown", Universe::name));
    vec![
        Cell::or_blank(universe),
        number("RequestCpus", 4),
        number("RequestMemory", 6),
        Cell::Text(format!("{:6}", context.int("NumShadowStarts").unwrap_or(0)).into()),
        Cell::value(&value(ad, context, "LastRemoteHost")),
    ]
}

/// The state of a grid job as its resource tells it (`render_grid_status`).
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

/// `TYPE->MANAGER HOST` of a GridResource (`local_render_grid_resource`).
fn grid_resource(resource: &[u8], context: &Context<'_>) -> BString {
    let (kind, rest) = match resource.find_byte(b' ') {
        Some(blank) => (&resource[..blank], &resource[blank + 1..]),
        None => (b"globus".as_slice(), resource),
    };
    // Behind the host stands the manager, or it is named in the address.
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

/// The last part of a GridJobId (`render_grid_job_id`).
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
    // `/JOB/NUMBER/` as JOB.NUMBER.
    let path = id[end..].strip_prefix(b"/").unwrap_or(&id[end..]);
    let mut parts = path.splitn(3, |byte| *byte == b'/');
    let mut text = BString::from(parts.next().unwrap_or_default());
    if let Some(number) = parts.next() {
        text.push(b'.');
        text.extend_from_slice(number);
    }
    Some(text)
}
