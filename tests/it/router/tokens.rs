//! Tests of `htc-router-translate run`: tokens that are created for copies, and proxies that are lent to copies.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::router::live::{CONFIG, JOB, Place, waits_for};

#[test]
fn a_token_is_sent_if_its_file_is_there() {
    let place = Place::new();
    let token = place.file("tokens/a.tok");
    let directory = place.file("tokens");
    let config = format!(
        "{CONFIG}JOB_ROUTER_CREATE_IDTOKEN_NAMES = a\nJOB_ROUTER_CREATE_IDTOKEN_a @=e\n  dir = \"{}\"\n  \
         filename = \"a.tok\"\n@e\nJOB_ROUTER_SEND_ROUTE_IDTOKENS = a\n",
        directory.display()
    );
    fs::write(place.file("config"), config).unwrap();
    let (_, output) = place.run("queue", &["--once"]);
    assert!(output.contains("token a: there is no file") && output.contains("unknown IDTOKEN a"), "{output}");
    assert!(!place.file("queue/2.0.ad").exists());
    fs::create_dir(&directory).unwrap();
    fs::write(&token, "x").unwrap();
    place.run("queue", &["--once"]);
    let copy = place.read("queue/2.0.ad");
    assert!(copy.contains(&format!("TransferInput = \"{}\"\n", token.display())), "{copy}");
}

#[test]
fn tokens_are_made_for_the_copies_they_are_sent_with() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let home = place.directory.path().display().to_string();
    fs::create_dir(place.file("tokens")).unwrap();
    let config = format!(
        "{CONFIG}JOB_ROUTER_IDTOKEN_REFRESH = 1\nTRUST_DOMAIN = example.org\nSEC_TOKEN_DIRECTORY = {home}/tokens\n\
         SEC_PASSWORD_DIRECTORY = {home}\nSEC_TOKEN_POOL_SIGNING_KEY_FILE = {home}/POOL\n\
         JOB_ROUTER_CREATE_IDTOKEN_NAMES = a b none\nJOB_ROUTER_CREATE_IDTOKEN_a @=e\n  sub = \"ana@example.org\"\n  \
         scope = \"READ WRITE\"\n  lifetime = 60\n  filename = \"a.tok\"\n@e\n\
         JOB_ROUTER_CREATE_IDTOKEN_b @=e\n  kid = \"other\"\n@e\nJOB_ROUTER_SEND_ROUTE_IDTOKENS = a\n"
    );
    fs::write(place.file("config"), config).unwrap();
    fs::write(place.file("POOL"), "secret").unwrap();
    let mode = |mode| fs::set_permissions(place.file("POOL"), fs::Permissions::from_mode(mode)).unwrap();
    // A key that others may read is not used.
    mode(0o644);
    let (_, told) = place.run("queue", &["--once"]);
    assert!(
        told.contains("failed to create token a : TOKEN:1:Failed to read file") && told.contains("0644"),
        "{told}"
    );
    assert!(told.contains("unknown IDTOKEN a") && !place.file("queue/2.0.ad").exists(), "{told}");
    mode(0o600);
    let (_, told) = place.run("queue", &["--once"]);
    assert!(told.contains("/other securely.") && !place.file("tokens/b").exists(), "{told}");
    let text = place.read("tokens/a.tok");
    let header = text.split('.').next().unwrap_or_default();
    assert_eq!(header, "eyJhbGciOiJIUzI1NiIsImtpZCI6IlBPT0wifQ", "{told}");
    assert!(text.ends_with('\n') && text.split('.').count() == 3, "{text}");
    let status = fs::metadata(place.file("tokens/a.tok")).unwrap();
    assert_eq!(status.permissions().mode() & 0o777, 0o600);
    let copy = place.read("queue/2.0.ad");
    assert!(copy.contains(&format!("TransferInput = \"{home}/tokens/a.tok\"\n")), "{copy}");
    // The token is renewed, and deleted once it cannot be renewed.
    let router = place.command("queue", &["--period", "1"]).spawn().unwrap();
    let made = |text: &str| place.read("tokens/a.tok") != text;
    assert!(waits_for(|| made(&text)));
    let first = place.read("tokens/a.tok");
    assert!(waits_for(|| made(&first)));
    fs::remove_file(place.file("POOL")).unwrap();
    assert!(waits_for(|| !place.file("tokens/a.tok").exists()));
    kill(Pid::from_raw(router.id() as i32), Signal::SIGTERM).unwrap();
    let told = router.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&told.stderr).contains("deleting a IDTOKEN file"));
}

#[test]
fn copies_of_a_proxy_are_removed_and_the_25_14_behaviour_is_reported() {
    for (quirks, told_of) in [("none", false), ("reference", true)] {
        let place = Place::new();
        let proxy = place.file("proxy");
        fs::write(&proxy, "p").unwrap();
        let route = format!(
            "JOB_ROUTER_ROUTE_R @=r\n  UNIVERSE vanilla\n  JobShouldBeSandboxed = true\n  UseSharedX509UserProxy = true\n  \
             SharedX509UserProxy = \"{}\"\n  SendIDTokens = \"nobodys\"\n@r\n",
            proxy.display()
        );
        fs::write(place.file("config"), format!("{CONFIG}{route}")).unwrap();
        let me = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap();
        let me = me.filter(|me| !me.uid.is_root());
        let owner = me.as_ref().map_or("nobody", |me| me.name.as_str());
        fs::write(place.file("queue/1.0.ad"), JOB.replace("ana", owner)).unwrap();
        let (_, output) = place.run("queue", &["--once", "--quirks", quirks]);
        assert!(output.contains("unknown IDTOKEN nobodys"), "{output}");
        assert_eq!(output.contains("(proxy-copy-left)"), told_of, "{quirks}: {output}");
        assert!(!place.file("proxy.1.0").exists(), "{output}");
        assert!(place.read("queue/1.0.ad").contains("Managed = \"Schedd\"\n"), "{output}");
    }
}
