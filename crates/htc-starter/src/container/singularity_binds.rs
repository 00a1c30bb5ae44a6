//! SINGULARITY_BIND_EXPR: directories that the administrator binds into every container.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use super::inputs::ContainerInputs;
use super::plan::{AnnotatedCommandLine, ContainerMount};
use crate::start_failure::StartFailure;
use htc_base::text::list;
use htc_base::world::FileKind;

const PARAMETER: &str = "SINGULARITY_BIND_EXPR";

/// Directory in which OpenCL programs look for drivers.
const OPENCL_VENDORS_DIRECTORY: &str = "/etc/OpenCL/vendors";

/// Adds the binds whose source directories exist. If the slot has a GPU, also binds the OpenCL drivers.
pub(super) fn add_binds(
    inputs: &ContainerInputs<'_>,
    image: &BStr,
    gpu: bool,
    line: &mut AnnotatedCommandLine,
) -> Result<Vec<ContainerMount>, StartFailure> {
    // If the parameter is not set, the reference evaluates `SingularityBind`, an attribute that nothing sets.
    let is_set = inputs.parameters().setting(PARAMETER).is_some();
    let wanted = match is_set {
        true => inputs.string_parameter(PARAMETER, "no directory is bound"),
        false => inputs.eval_string(b"SingularityBind"),
    };
    let Some(wanted) = wanted else {
        line.add_unused(PARAMETER, if is_set { "gives no string" } else { "is not set" });
        return Ok(Vec::new());
    };
    let mut all: Vec<BString> = list::split(&wanted).map(BString::from).collect();
    if gpu
        && is_directory(inputs, OPENCL_VENDORS_DIRECTORY.as_bytes())
        && !all.iter().any(|bind| bind.as_bstr() == OPENCL_VENDORS_DIRECTORY)
    {
        all.push(OPENCL_VENDORS_DIRECTORY.into());
    }
    let (mut mounts, mut missing) = (Vec::new(), Vec::new());
    for bind in all {
        let mut parts = bind.splitn(3, |byte| *byte == b':');
        let source = parts.next().unwrap_or_default();
        let target = parts.next().unwrap_or(source);
        if inputs.job_inputs.world.stat(to_path(source).as_ref()).is_err() {
            line.add_unused(PARAMETER, format!("'{bind}': there is no '{}' here", source.as_bstr()));
            missing.push(format!("'{bind}'"));
            continue;
        }
        let ignores = inputs.plain_boolean_parameter("SINGULARITY_IGNORE_MISSING_BIND_TARGET")?;
        let inside = [image.as_bytes(), b"/", target].concat();
        if ignores && is_directory(inputs, image) && !is_directory(inputs, &inside) {
            let why = format!("'{bind}': there is no '{}' in the image", target.as_bstr());
            line.add_unused("SINGULARITY_IGNORE_MISSING_BIND_TARGET", why);
            continue;
        }
        line.add(["-B".into(), bind.clone()], PARAMETER);
        mounts.push(ContainerMount {
            source: Some(source.into()),
            target: target.into(),
            because: PARAMETER.into(),
        });
    }
    if !missing.is_empty() {
        let missing = missing.join(", ");
        inputs.add_setting_remark(
            PARAMETER,
            format!("{PARAMETER}: not bound because it is missing: {missing}"),
        );
    }
    Ok(mounts)
}

fn to_path(bytes: &[u8]) -> impl AsRef<Path> + '_ {
    bytes.to_path_lossy()
}

fn is_directory(inputs: &ContainerInputs<'_>, name: &[u8]) -> bool {
    let status = inputs.job_inputs.world.stat(to_path(name).as_ref());
    status.is_ok_and(|status| status.kind == FileKind::Directory)
}
