use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use miniapi::{Options, Server};
use serde_json::{from_str, json, Value};

use crate::Result;

/// A test process that starts a server, prints how it is reached, and waits until it is killed.
#[tokio::test]
#[ignore = "the next test starts it"]
async fn victim() -> Result {
    let server = Server::start(Options::default()).await?;
    println!("\n{}", json!({"url": server.access.url, "kubeconfig": server.access.kubeconfig}));
    std::future::pending().await
}

// Behaviour 21.
#[test]
#[cfg(unix)]
fn nothing_is_left_of_a_killed_process() -> Result {
    let mut process = Command::new(std::env::current_exe()?)
        .args(["--exact", "process::victim", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()?;
    let output = BufReader::new(process.stdout.take().ok_or("the output is piped")?);
    let line = output.lines().map_while(std::result::Result::ok).find(|line| line.starts_with('{'));
    let started: Value = from_str(&line.ok_or("the process has started no server")?)?;
    let hosts = children(process.id())?;
    let port = started["url"].as_str().and_then(|url| url.strip_prefix("https://")).ok_or("the server has a URL")?;
    let folder = fs::canonicalize(started["kubeconfig"].as_str().ok_or("the server has a kubeconfig")?)?;
    let folder = folder.parent().ok_or("the kubeconfig is in a folder")?;
    assert_eq!(hosts.len(), 1);
    assert!(TcpStream::connect(port).is_ok());
    process.kill()?; // by SIGKILL
    process.wait()?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while runs(&hosts[0])? || folder.exists() || TcpStream::connect(port).is_ok() {
        assert!(
            Instant::now() < deadline,
            "the host {} still runs, or its folder {folder:?} or port {port} is left",
            hosts[0]
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Returns the IDs of the children of a process.
fn children(parent: u32) -> Result<Vec<String>> {
    let listed = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output()?;
    let listed = String::from_utf8(listed.stdout)?;
    let processes = listed.lines().filter_map(|line| line.trim().split_once(' '));
    Ok(processes.filter(|(_, ppid)| ppid.trim() == parent.to_string()).map(|(pid, _)| pid.to_string()).collect())
}

/// Reports whether a process runs, and isn't a zombie.
fn runs(pid: &str) -> Result<bool> {
    let listed = Command::new("ps").args(["-o", "state=", "-p", pid]).output()?;
    Ok(!matches!(listed.stdout.first(), None | Some(b'Z')))
}
