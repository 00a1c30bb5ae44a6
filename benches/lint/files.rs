//! Generators of the configurations that lint is measured with; equal arguments give equal text.

use std::fmt::Write as _;

/// Parameters at the top of a site's configuration.
const HEAD: &str = r#"# Configuration of all machines of the pool
CONDOR_HOST = cm.example.org
DAEMON_LIST = MASTER, STARTD, SCHEDD, JOB_ROUTER
UID_DOMAIN = example.org
FILESYSTEM_DOMAIN = $(UID_DOMAIN)
LOCAL_DIR = /var
LOG = $(LOCAL_DIR)/log/condor
SPOOL = $(LOCAL_DIR)/lib/condor/spool
EXECUTE = $(LOCAL_DIR)/lib/condor/execute
RELEASE_DIR = /usr
ALLOW_READ = *.$(UID_DOMAIN)
ALLOW_WRITE = *.$(UID_DOMAIN)
ALLOW_DAEMON = condor@$(UID_DOMAIN)/*.$(UID_DOMAIN)
ALLOW_ADMINISTRATOR = condor@$(UID_DOMAIN)/$(CONDOR_HOST)
SEC_DEFAULT_AUTHENTICATION = REQUIRED
SEC_DEFAULT_AUTHENTICATION_METHODS = FS, IDTOKENS, SSL
MAX_SCHEDD_LOG = 100 Mb
MAX_NUM_SCHEDD_LOG = 8
SCHEDD_DEBUG = D_PID, D_CAT
STARTD_DEBUG = D_FULLDEBUG
NEGOTIATOR_INTERVAL = 60
UPDATE_INTERVAL = 300
NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = cpus=100%, memory=90%, disk=100%
SLOT_TYPE_1_PARTITIONABLE = True
IS_IDLE = (KeyboardIdle > 15 * $(MINUTE) && LoadAvg - CondorLoadAvg < 0.3)
START = $(IS_IDLE) || TARGET.IsUrgent =?= True
SUSPEND = KeyboardIdle < $(MINUTE)
CONTINUE = $(IS_IDLE)
PREEMPT = Activity == "Suspended" && ActivityTimer > 10 * $(MINUTE)
KILL = ActivityTimer > 20 * $(MINUTE)
RANK = (TARGET.AcctGroup =?= "physics") * 1000 + TARGET.JobPrio
CLAIM_WORKLIFE = 1200
STARTD_ATTRS = $(STARTD_ATTRS), Pool
Pool = "example"
JOB_ROUTER_POLLING_PERIOD = 10
JOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantRouting =?= True
SYSTEM_PERIODIC_REMOVE = JobStatus == 5 && time() - EnteredCurrentStatus > 7 * 24 * $(HOUR)
"#;

/// One cluster of machines; `NNN` stands for its number.
const CLUSTER: &str = r#"
# ---- Cluster NNN: racks of the machine room, bought with the grant of that year ----
# The owners of the cluster come first; others may use what is idle. Ask the owners before you
# change the share of memory: their jobs are large, and two of them fill a machine.
CLUSTER_NNN_OWNERS = annNNN, bobNNN, eveNNN
CLUSTER_NNN_MEMORY = 191000
CLUSTER_NNN_DISK = 4000000
CLUSTER_NNN_IS_OWNER = stringListMember(TARGET.Owner, "$(CLUSTER_NNN_OWNERS)")
CLUSTER_NNN_FITS = (TARGET.RequestMemory <= $(CLUSTER_NNN_MEMORY) && TARGET.RequestDisk < $(CLUSTER_NNN_DISK))
STARTD.CLUSTER_NNN.START = $(CLUSTER_NNN_IS_OWNER) || ($(CLUSTER_NNN_FITS) && $(IS_IDLE))
STARTD.CLUSTER_NNN.RANK = $(CLUSTER_NNN_IS_OWNER) * 10000 + TARGET.JobPrio
ClusterNNN = "racks NNN"
STARTD_ATTRS = $(STARTD_ATTRS), ClusterNNN

# Its health is checked every five minutes.
STARTD_CRON_JOBLIST = $(STARTD_CRON_JOBLIST) HEALTH_NNN
STARTD_CRON_HEALTH_NNN_EXECUTABLE = /usr/libexec/condor/health
STARTD_CRON_HEALTH_NNN_ARGS = --cluster NNN --limit $(CLUSTER_NNN_MEMORY)
STARTD_CRON_HEALTH_NNN_PREFIX = HealthNNN
STARTD_CRON_HEALTH_NNN_MODE = Periodic
STARTD_CRON_HEALTH_NNN_PERIOD = 300
STARTD_CRON_HEALTH_NNN_KILL = True

GROUP_NAMES = $(GROUP_NAMES), group_site.clusterNNN
GROUP_QUOTA_group_site.clusterNNN = 1NNN
GROUP_ACCEPT_SURPLUS_group_site.clusterNNN = True

if version >= 24.0
  MAX_TRANSFER_NNN = 20
else
  MAX_TRANSFER_NNN = 10
endif

JOB_ROUTER_ROUTE_NAMES = $(JOB_ROUTER_ROUTE_NAMES) clusterNNN
JOB_ROUTER_ROUTE_clusterNNN @=end
  # Jobs that ask for this cluster by name
  REQUIREMENTS WantCluster == "NNN" && RequestMemory <= $(CLUSTER_NNN_MEMORY)
  UNIVERSE VANILLA
  MaxJobs = 200
  MaxIdleJobs = $(MAX_TRANSFER_NNN)
  SET Requirements (TARGET.ClusterNNN =!= undefined)
  DEFAULT RequestMemory 2000
  EVALSET RemoteCluster strcat("cluster", "NNN")
@end

JOB_TRANSFORM_NAMES = $(JOB_TRANSFORM_NAMES) ShareNNN
JOB_TRANSFORM_ShareNNN @=end
  REQUIREMENTS AcctGroup == "clusterNNN" && RequestCpus > 8
  SET WantCluster "NNN"
  DEFAULT JobPrio 10
@end

SUBMIT_REQUIREMENT_NAMES = $(SUBMIT_REQUIREMENT_NAMES) SmallNNN
SUBMIT_REQUIREMENT_SmallNNN = WantCluster =!= "NNN" || RequestMemory < $(CLUSTER_NNN_MEMORY)
SUBMIT_REQUIREMENT_SmallNNN_REASON = strcat("Cluster NNN has only ", "$(CLUSTER_NNN_MEMORY)", " MB of memory")
"#;

/// Returns a configuration of at least `lines` lines as a site writes it: policies, lists of attributes, cron jobs,
/// groups, conditions, routes, transforms and comments, with a mistake in every tenth cluster.
pub(crate) fn site(lines: usize) -> String {
    let mut text = HEAD.to_owned();
    let (mut count, per_cluster) = (HEAD.lines().count(), CLUSTER.lines().count());
    let mut number = 0;
    while count < lines {
        text += &CLUSTER.replace("NNN", &format!("{number:03}"));
        count += per_cluster;
        if number % 10 == 0 {
            writeln!(text, "STARTD.CLUSTER_{number:03}.PREEMPT = ActivityTimer > 10 * $(MINUTES)").unwrap();
            count += 1;
        }
        number += 1;
    }
    text
}

/// Returns `lines` lines of which four fifths set macros of one family, each with a reference to an earlier one.
pub(crate) fn family(lines: usize) -> String {
    let mut text = String::new();
    for line in 0..lines {
        match line % 5 {
            0 => writeln!(text, "# machine {line}"),
            _ => writeln!(text, "SITE_PARAMETER_{line:05} = value of $(SITE_PARAMETER_{:05}:none)", line / 2),
        }
        .unwrap();
    }
    text
}

/// Returns settings of 48 bytes each, `bytes` in all, of many machines.
pub(crate) fn settings(bytes: usize) -> String {
    let mut text = String::new();
    let words = ["MEMORY", "OWNER", "RACKS", "DISKS"];
    let mut line = 0;
    while text.len() < bytes {
        let (machine, word) = (line / words.len(), words[line % words.len()]);
        writeln!(text, "NODE_{machine:06}_{word} = value {line:06} for {word} here").unwrap();
        line += 1;
    }
    text
}

/// Returns slot types of which each has the shares of the one before.
pub(crate) fn chain(links: usize) -> String {
    let mut text = String::from("SLOT_TYPE_1 = cpus=1\n");
    for link in 2..=links {
        writeln!(text, "SLOT_TYPE_{link} = $(SLOT_TYPE_{})", link - 1).unwrap();
    }
    text
}
