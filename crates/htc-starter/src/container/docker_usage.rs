//! Resource usage of a running container and host ports of its services, both read from docker's socket.
//!
//! Reference: `DockerAPI::stats`, `getServicePorts` of `docker-api.cpp`; `DockerProc::PublishUpdateAd` of
//! `docker_proc.cpp`.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};
use serde_json::Value as Json;

use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr};

/// Number of bytes in one unit of the network attributes.
const BYTES_PER_NETWORK_MB: f64 = 1_000_000.0;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Resource usage of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DockerUsage {
    /// Peak memory, in bytes.
    pub memory: u64,
    /// Number of bytes received.
    pub received: u64,
    /// Number of bytes sent.
    pub sent: u64,
    /// CPU time in user mode, in nanoseconds.
    pub user: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system: u64,
}

impl DockerUsage {
    /// Returns the HTTP request for the resource usage of a container.
    pub fn stats_request(container: &[u8]) -> Vec<u8> {
        [&b"GET /containers/"[..], container, b"/stats?stream=0 HTTP/1.0\r\n\r\n"].concat()
    }

    /// Parses a response as the reference does: uses the first occurrence of each name.
    pub fn parse(answer: &[u8]) -> Self {
        let number = |name: &str| number_after(answer, name);
        // `rss` does not exist with cgroup v2.
        let memory = number("rss").or_else(|| match (number("anon"), number("shmem")) {
            (Some(anon), Some(shmem)) => Some(anon.saturating_add(shmem)),
            _ => number("usage"),
        });
        DockerUsage {
            memory: memory.unwrap_or(0),
            received: number("rx_bytes").unwrap_or(0),
            sent: number("tx_bytes").unwrap_or(0),
            user: number("usage_in_usermode").unwrap_or(0),
            system: number("usage_in_kernelmode").unwrap_or(0),
        }
    }

    /// Returns the usage with the larger peak memory of this usage and of `earlier`.
    #[must_use]
    pub fn with_earlier_peak(self, earlier: Option<DockerUsage>) -> Self {
        DockerUsage { memory: self.memory.max(earlier.map_or(0, |earlier| earlier.memory)), ..self }
    }

    /// Sets the attributes in an ad, unless the memory usage is still 0. ImageSize is in MiB, as in 25.14.
    pub fn publish(&self, ad: &mut ClassAd) {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        if self.memory == 0 {
            return;
        }
        ad.set("ResidentSetSize", whole(self.memory / 1024));
        ad.set("MemoryUsage", whole(self.memory / (1024 * 1024)));
        ad.set("ImageSize", whole(self.memory / (1024 * 1024)));
        ad.set("NetworkInputMb", self.received as f64 / BYTES_PER_NETWORK_MB);
        ad.set("NetworkOutputMb", self.sent as f64 / BYTES_PER_NETWORK_MB);
        ad.set("RemoteUserCpu", whole(self.user / NANOSECONDS_PER_SECOND));
        ad.set("RemoteSysCpu", whole(self.system / NANOSECONDS_PER_SECOND));
    }
}

/// Returns the number after the first `"name":`.
fn number_after(text: &[u8], name: &str) -> Option<u64> {
    let name = format!("\"{name}\"");
    let rest = text[text.find(&name)? + name.len()..].strip_prefix(b":")?.trim_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest[..digits].to_str().ok()?.parse().ok()
}

/// Returns the service names of a job.
fn service_names(job: &ClassAd, world: &dyn World) -> Vec<BString> {
    let names = Context::new(world).my(job).string("ContainerServiceNames").unwrap_or_default();
    list::split(&names).map(BString::from).collect()
}

/// Returns the HTTP request for the host ports of a container, or `None` if the job has no services.
pub fn ports_request(container: &[u8], job: &ClassAd, world: &dyn World) -> Option<Vec<u8>> {
    if service_names(job, world).is_empty() {
        return None;
    }
    Some([&b"GET /containers/"[..], container, b"/json HTTP/1.0\r\n\r\n"].concat())
}

/// Returns `<service>_HostPort` for each service whose port is known, or `None` if the response is not valid.
pub fn host_ports(answer: &[u8], job: &ClassAd, world: &dyn World) -> Option<ClassAd> {
    let body = answer.find(b"\r\n\r\n").map_or(answer, |at| &answer[at + 4..]);
    let inspection: Json = serde_json::from_slice(body).ok()?;
    let mut known = BTreeMap::new();
    for (port, places) in inspection.pointer("/NetworkSettings/Ports")?.as_object()? {
        let inside: i64 = port.split('/').next()?.parse().ok()?;
        for place in places.as_array()? {
            known.insert(inside, place.pointer("/HostPort")?.as_str()?.parse::<i64>().ok()?);
        }
    }
    let mut ad = ClassAd::new();
    for service in service_names(job, world) {
        let inside = Context::new(world).my(job).int(format!("{service}_ContainerPort"));
        if let Some(outside) = inside.and_then(|inside| known.get(&inside)) {
            ad.set(format!("{service}_HostPort").as_str(), *outside);
        }
    }
    Some(ad)
}

/// Returns `<service>_HostPort` with undefined values, for a container that has ended.
pub(crate) fn undefined_host_ports(job: &ClassAd, world: &dyn World) -> ClassAd {
    let mut ad = ClassAd::new();
    for service in service_names(job, world) {
        if let Ok(undefined) = Expr::parse(b"undefined") {
            ad.insert(format!("{service}_HostPort").as_str(), undefined);
        }
    }
    ad
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::format::long;
    use htc_os::RealWorld;

    #[test]
    fn the_first_number_of_each_name_is_used_for_every_kernel() {
        let old = b"HTTP/1.0 200 OK\r\n\r\n{\"memory_stats\":{\"usage\":9,\"stats\":{\"rss_huge\":1,\"rss\":4096}},\"networks\":{\"eth0\":{\"rx_bytes\":5,\"tx_bytes\":6}}}";
        let usage = DockerUsage::parse(old);
        assert_eq!((usage.memory, usage.received, usage.sent), (4096, 5, 6));
        let new = b"{\"cpu_usage\":{\"usage_in_usermode\":3000000000,\"usage_in_kernelmode\":1},\"usage\":9,\"anon\":10,\"shmem\":20}";
        let usage = DockerUsage::parse(new);
        assert_eq!((usage.memory, usage.user, usage.system), (30, 3_000_000_000, 1));
        assert_eq!(DockerUsage::parse(b"\"usage\":7").memory, 7);
        for text in [&b""[..], b"\"rss\"", b"\"rss\":", b"\"rss\":x", b"\"rss\":99999999999999999999999"] {
            assert_eq!(DockerUsage::parse(text), DockerUsage::default());
        }
    }

    #[test]
    fn ports_are_those_of_the_services_that_the_job_names() {
        let world = RealWorld::new();
        let job = long::parse(
            b"ContainerServiceNames = \"web, db\"\nweb_ContainerPort = 80\ndb_ContainerPort = 5432\n",
        )
        .0;
        let answer = b"HTTP/1.0 200 OK\r\n\r\n{\"NetworkSettings\":{\"Ports\":{\"80/tcp\":[{\"HostIp\":\"0.0.0.0\",\"HostPort\":\"49153\"}]}}}";
        let ports = host_ports(answer, &job, &world).unwrap();
        assert_eq!(long::print(&ports), b"web_HostPort = 49153\n");
        assert_eq!(
            long::print(&undefined_host_ports(&job, &world)),
            b"db_HostPort = undefined\nweb_HostPort = undefined\n"
        );
        assert_eq!(host_ports(b"{}", &job, &world), None);
        assert_eq!(host_ports(b"", &job, &world), None);
        assert_eq!(ports_request(b"c", &ClassAd::new(), &world), None);
    }
}
