//! Execution visa: a copy of the job ad in the job's directory, which names the starter that took the job
//! (`WantExecutionVisaFromStarter`).
//!
//! Reference: `classad_visa_write` of `classad_visa.cpp`. If a visa cannot be written, the job runs nevertheless.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::plan_paths::placeholder_address;
use htc_base::job::attr;
use htc_base::quirks::QuirkMode;
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_classad::format::long;
use htc_classad::{ClassAd, Context};
use htc_starter::job_info;

/// Execution visa that will be written.
#[derive(Clone, Debug)]
pub struct Visa {
    ad: ClassAd,
    name: String,
}

impl Visa {
    /// Creates the visa that the submitted ad requests, or returns `None` if the ad requests none or has no id for
    /// the file name.
    pub fn from_job_ad(ad: &ClassAd, quirks: QuirkMode, world: &dyn World) -> Option<Visa> {
        Context::new(world).my(ad).boolean("WantExecutionVisaFromStarter").filter(|wanted| *wanted)?;
        let id = |name: &str| job_info::job_id_part(ad, name, quirks, world);
        let (cluster, proc) = (id(attr::CLUSTER_ID)?, id(attr::PROC_ID)?);
        let mut ad = ad.clone();
        ad.set("VisaDaemonType", "STARTER");
        ad.set("VisaDaemonPID", i64::from(std::process::id()));
        ad.set("VisaHostname", world.full_host().as_str());
        ad.set("VisaIpAddr", placeholder_address(world));
        Some(Visa { ad, name: format!("jobad.{cluster}.{proc}") })
    }

    /// Writes the visa to the file `jobad.<cluster>.<proc>`; if that file exists, appends the first free number to
    /// the name.
    ///
    /// # Errors
    /// Fails on errors of the file system.
    pub fn write(&self, directory: &Path, now: ClockReading) -> io::Result<()> {
        let mut ad = self.ad.clone();
        ad.set("VisaTimestamp", now.epoch());
        let create = |name: &str| {
            fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(directory.join(name))
        };
        let mut name = self.name.clone();
        for number in 0u32.. {
            match create(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    name = format!("{}.{number}", self.name);
                }
                file => return file?.write_all(&long::print(&ad)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}
