use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io, sync::mpsc, thread};

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
fn nothing_is_left_of_a_killed_process() -> Result {
    let mut process = Command::new(std::env::current_exe()?)
        .args(["--exact", "process::victim", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let output = io::BufReader::new(process.stdout.take().ok_or("the output is piped")?);
    let line = io::BufRead::lines(output).map_while(io::Result::ok).find(|line| line.starts_with('{'));
    let started: Value = from_str(&line.ok_or("the process has started no server")?)?;
    let port = started["url"].as_str().and_then(|url| url.strip_prefix("https://")).ok_or("the server has a URL")?;
    let folder = fs::canonicalize(started["kubeconfig"].as_str().ok_or("the server has a kubeconfig")?)?;
    let folder = folder.parent().ok_or("the kubeconfig is in a folder")?;
    assert!(TcpStream::connect(port).is_ok());
    process.kill()?; // by SIGKILL
    process.wait()?;
    // The host has the standard error of the process, which is at its end when both have ended.
    let mut errors = process.stderr.take().ok_or("the standard error is piped")?;
    let (ended, wait) = mpsc::channel();
    thread::spawn(move || ended.send(io::copy(&mut errors, &mut io::sink())));
    wait.recv_timeout(Duration::from_secs(30))??;
    assert!(!folder.exists(), "the folder {folder:?} is left");
    assert!(TcpStream::connect(port).is_err(), "the port {port} is left");
    Ok(())
}
