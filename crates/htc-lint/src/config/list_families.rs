//! Lists of names whose members are defined by parameters: routes, transforms, requirements, policies, cron jobs.

/// List of names, with the prefix and suffix of the parameters that define its members.
pub(super) struct NamedListFamily {
    pub(super) lists: &'static [&'static str],
    pub(super) prefix: &'static str,
    pub(super) suffix: &'static str,
    /// Suffixes of parameters that are settings of a member and do not define one.
    pub(super) member_suffixes: &'static [&'static str],
    pub(super) member_noun: &'static str,
}

/// Family whose list is `<prefix>NAMES`.
const DEFAULT_FAMILY: NamedListFamily =
    NamedListFamily { lists: &[], prefix: "", suffix: "", member_suffixes: &["NAMES"], member_noun: "" };

/// Families of lists and members.
pub(super) static NAMED_LIST_FAMILIES: [NamedListFamily; 13] = [
    NamedListFamily {
        lists: &["JOB_ROUTER_ROUTE_NAMES"],
        prefix: "JOB_ROUTER_ROUTE_",
        member_noun: "route",
        ..DEFAULT_FAMILY
    },
    NamedListFamily {
        lists: &["JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES", "JOB_ROUTER_POST_ROUTE_TRANSFORM_NAMES"],
        prefix: "JOB_ROUTER_TRANSFORM_",
        member_noun: "route transform",
        ..DEFAULT_FAMILY
    },
    NamedListFamily {
        lists: &["JOB_TRANSFORM_NAMES"],
        prefix: "JOB_TRANSFORM_",
        member_noun: "job transform",
        ..DEFAULT_FAMILY
    },
    NamedListFamily {
        lists: &["SUBMIT_REQUIREMENT_NAMES"],
        prefix: "SUBMIT_REQUIREMENT_",
        member_suffixes: &["NAMES", "_REASON", "_IS_WARNING"],
        member_noun: "submit requirement",
        ..DEFAULT_FAMILY
    },
    NamedListFamily {
        lists: &["SYSTEM_PERIODIC_HOLD_NAMES"],
        prefix: "SYSTEM_PERIODIC_HOLD_",
        member_suffixes: &["NAMES", "_REASON", "_SUBCODE", "REASON", "SUBCODE"],
        member_noun: "hold policy",
        ..DEFAULT_FAMILY
    },
    NamedListFamily {
        lists: &["SYSTEM_PERIODIC_RELEASE_NAMES"],
        prefix: "SYSTEM_PERIODIC_RELEASE_",
        member_suffixes: &["NAMES", "_REASON", "_SUBCODE", "REASON"],
        member_noun: "release policy",
        ..DEFAULT_FAMILY
    },
    NamedListFamily {
        lists: &["SYSTEM_PERIODIC_REMOVE_NAMES"],
        prefix: "SYSTEM_PERIODIC_REMOVE_",
        member_suffixes: &["NAMES", "_REASON", "_SUBCODE", "REASON"],
        member_noun: "remove policy",
        ..DEFAULT_FAMILY
    },
    NamedListFamily {
        lists: &["SYSTEM_PERIODIC_VACATE_NAMES"],
        prefix: "SYSTEM_PERIODIC_VACATE_",
        member_suffixes: &["NAMES", "_REASON", "_SUBCODE", "REASON"],
        member_noun: "vacate policy",
        ..DEFAULT_FAMILY
    },
    NamedListFamily {
        lists: &["STARTD_CRON_JOBLIST"],
        prefix: "STARTD_CRON_",
        suffix: "_EXECUTABLE",
        member_suffixes: &[],
        member_noun: "startd cron job",
    },
    NamedListFamily {
        lists: &["SCHEDD_CRON_JOBLIST"],
        prefix: "SCHEDD_CRON_",
        suffix: "_EXECUTABLE",
        member_suffixes: &[],
        member_noun: "schedd cron job",
    },
    NamedListFamily {
        lists: &["JOB_ROUTER_CREATE_IDTOKEN_NAMES"],
        prefix: "JOB_ROUTER_CREATE_IDTOKEN_",
        member_noun: "identity token",
        ..DEFAULT_FAMILY
    },
    NamedListFamily {
        lists: &["DOCKER_VOLUMES", "DOCKER_MOUNT_VOLUMES"],
        prefix: "DOCKER_VOLUME_DIR_",
        member_suffixes: &["_MOUNT_IF"],
        member_noun: "docker volume",
        ..DEFAULT_FAMILY
    },
    NamedListFamily {
        lists: &["SUBMIT_TEMPLATE_NAMES"],
        prefix: "SUBMIT_TEMPLATE_",
        member_noun: "submit template",
        ..DEFAULT_FAMILY
    },
];
