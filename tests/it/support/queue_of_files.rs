//! Queue of files with its hooks, for tests of `htc-hook-test queue`.

use std::path::Path;

use super::children::write_executable;

/// JOB_EXIT hook that records the end of a job, or returns the job to the queue.
pub(crate) const EXIT: &str = "#!/bin/sh\ncd \"${0%/*}/../queue\"\nid=$(sed -n 's/^ClusterId = //p')\n\
    rm -f \"taken/$id\"\nif [ \"$1\" = exit ]; then echo ended >\"done/$id\"; exit; fi\n\
    printf 'ClusterId = %s\\nProcId = 0\\nCmd = \"/bin/true\"\\n' \"$id\" >\"tmp.$id\" && mv \"tmp.$id\" \"new/$id\"\n";

/// Creates a queue of files in a directory, with a fetch hook that takes the first file by the commands `take`.
pub(crate) fn queue(home: &Path, take: &str) {
    std::fs::create_dir(home.join("hooks")).unwrap();
    std::fs::create_dir_all(home.join("queue/new")).unwrap();
    std::fs::create_dir(home.join("queue/taken")).unwrap();
    std::fs::create_dir(home.join("queue/done")).unwrap();
    for number in 0..40 {
        let ad = format!("ClusterId = {number}\nProcId = 0\nCmd = \"/bin/true\"\n");
        std::fs::write(home.join(format!("queue/new/{number}")), ad).unwrap();
    }
    let fetch = format!("#!/bin/sh\ncd \"${{0%/*}}/../queue\"\ncat >/dev/null\n{take}\n");
    write_executable(&home.join("hooks/fetch"), fetch.as_bytes());
    write_executable(&home.join("hooks/exit"), EXIT.as_bytes());
    let config = "STARTD_JOB_HOOK_KEYWORD = Q\nQ_HOOK_FETCH_WORK = $(CONFIG_ROOT)/hooks/fetch\n\
        Q_HOOK_JOB_EXIT = $(CONFIG_ROOT)/hooks/exit\n";
    std::fs::write(home.join("condor_config"), config).unwrap();
}

/// Commands of a fetch hook that takes a job by renaming its file.
pub(crate) const BY_RENAME: &str = "for file in new/*; do\n mv \"$file\" taken/ 2>/dev/null || continue\n \
    cat \"taken/${file#new/}\"\n exit 0\ndone";
