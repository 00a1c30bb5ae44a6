//! Event logs named by a source: the user's log, and that of DAGMan (`WriteUserLog`, write_user_log.cpp).

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use super::LiveRouter;
use htc_base::job::JobId;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_os as os;
use htc_os::files::open_regular_file;
use htc_user_log::{EventBody, EventTime, FormatOptions, JobEvent, dagman_nodes_mask};

/// Bits of UserLogUseXML that select the format of a log.
const XML_BIT: i64 = 1;
const JSON_BIT: i64 = 2;

/// Log to which events are written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UserLogTarget {
    path: PathBuf,
    format_bits: i64,
    /// Numbers of the events to write, or `None` for all.
    mask: Option<Vec<i64>>,
}

/// Returns the logs named by an ad, in the order in which they are written.
fn user_log_targets(ad: &ClassAd, world: &dyn World) -> Vec<UserLogTarget> {
    let context = Context::new(world).my(ad);
    let path = |name: &str| {
        let name = context.string(name).filter(|name| !name.is_empty())?;
        let directory = context.string("Iwd").unwrap_or_default();
        // A submitter sets the log to /dev/null to disable it.
        Some(directory.to_path_lossy().join(name.to_path_lossy()))
            .filter(|path| path != Path::new("/dev/null"))
    };
    let form = context.int("UserLogUseXML").or_else(|| context.boolean("UserLogUseXML").map(i64::from));
    let form = form.unwrap_or(0) & (XML_BIT | JSON_BIT);
    let mut found: Vec<UserLogTarget> = path("UserLog")
        .map(|path| UserLogTarget { path, format_bits: form, mask: None })
        .into_iter()
        .collect();
    if let Some(path) = path("DAGManNodesLog") {
        found.push(match dagman_nodes_mask(ad, world) {
            // A DAGMan log without a mask has the same format as the user's log and receives all events.
            None => UserLogTarget { path, format_bits: form, mask: None },
            mask => UserLogTarget { path, format_bits: form & JSON_BIT, mask },
        });
    }
    found
}

impl LiveRouter<'_> {
    /// Appends an event to the logs that the source names; a failure for one log does not affect the others.
    pub(super) fn write_user_log_event(&self, id: JobId, ad: &ClassAd, body: EventBody) -> Vec<io::Error> {
        let world = self.options.world;
        let words = self.options.view.string("DEFAULT_USERLOG_FORMAT_OPTIONS").ok().flatten();
        let format = FormatOptions::parse(&words.map(|setting| setting.value).unwrap_or_default());
        let now = world.now();
        let time = EventTime::from_micros(now.wall_us, format, &world.zone(now.epoch()));
        let event = JobEvent::new(id.cluster, id.proc, time, body);
        let mut failed = Vec::new();
        for log in user_log_targets(ad, world) {
            if log.mask.as_ref().is_some_and(|mask| !mask.contains(&i64::from(event.number))) {
                continue;
            }
            let print = |event: &JobEvent| match log.format_bits {
                form if form & JSON_BIT != 0 => event.to_json(),
                XML_BIT => event.to_xml(),
                _ => event.to_text(format),
            };
            let mut text = print(&event);
            if log.mask.is_none()
                && let Some(more) = event.job_ad_information_event(ad, world)
            {
                text.extend_from_slice(&print(&more));
            }
            failed.extend(self.append(&log.path, ad, &text).err());
        }
        failed
    }

    /// Appends as the account of the job's owner.
    fn append(&self, path: &Path, ad: &ClassAd, text: &[u8]) -> io::Result<()> {
        let owner = self.owner(ad).map_err(io::Error::other)?;
        os::identity::run_as(owner.as_ref(), || {
            open_regular_file(path, OpenOptions::new().create(true).append(true))?.write_all(text)
        })?
    }
}
