//! SINGULARITY_BIND_EXPR: what the administrator binds into every container.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use super::plan::{CommandLine, Mount};
use super::surroundings::Inputs;
use crate::failure::StartFailure;
use htc_base::text::list;
use htc_base::world::FileKind;

const KNOB: &str = "SINGULARITY_BIND_EXPR";

/// Drivers that programs with OpenCL look for.
const OPENCL: &str = "/etc/OpenCL/vendors";

/// Adds them, as far as their sources are there; with a GPU the drivers of OpenCL as well.
pub(super) fn binds(
    inputs: &Inputs<'_>,
    image: &BStr,
    gpu: bool,
    line: &mut CommandLine,
) -> Result<Vec<Mount>, StartFailure> {
    // `SingularityBind` where the knob is not set, an attribute that nothing sets.
    let is_set = inputs.knobs().setting(KNOB).is_some();
    let wanted = match is_set {
        true => inputs.string(KNOB, "nothing is bound"),
        false => inputs.string_of(b"SingularityBind"),
    };
    let Some(wanted) = wanted else {
        line.pass(KNOB, if is_set { "gives no string" } else { "is not set" });
        return Ok(Vec::new());
    };
    let mut all: Vec<BString> = list::split(&wanted).map(BString::from).collect();
    if gpu && is_directory(inputs, OPENCL.as_bytes()) && !all.iter().any(|bind| bind.as_bstr() == OPENCL) {
        all.push(OPENCL.into());
    }
    let (mut mounts, mut missing) = (Vec::new(), Vec::new());
    for bind in all {
        let mut parts = bind.splitn(3, |byte| *byte == b':');
        let source = parts.next().unwrap_or_default();
        let target = parts.next().unwrap_or(source);
        if inputs.about.world.stat(path(source).as_ref()).is_err() {
            line.pass(KNOB, format!("'{bind}': there is no '{}' here", source.as_bstr()));
            missing.push(format!("'{bind}'"));
            continue;
        }
        let ignores = inputs.flag("SINGULARITY_IGNORE_MISSING_BIND_TARGET")?;
        let inside = [image.as_bytes(), b"/", target].concat();
        if ignores && is_directory(inputs, image) && !is_directory(inputs, &inside) {
            let why = format!("'{bind}': there is no '{}' in the image", target.as_bstr());
            line.pass("SINGULARITY_IGNORE_MISSING_BIND_TARGET", why);
            continue;
        }
        line.add(["-B".into(), bind.clone()], KNOB);
        mounts.push(Mount { source: Some(source.into()), target: target.into(), because: KNOB.into() });
    }
    if !missing.is_empty() {
        let missing = missing.join(", ");
        inputs.remark(KNOB, format!("{KNOB}: not bound, for it is not there: {missing}"));
    }
    Ok(mounts)
}

fn path(bytes: &[u8]) -> impl AsRef<Path> + '_ {
    bytes.to_path_lossy()
}

fn is_directory(inputs: &Inputs<'_>, name: &[u8]) -> bool {
    let status = inputs.about.world.stat(path(name).as_ref());
    status.is_ok_and(|status| status.kind == FileKind::Directory)
}
