use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, process, thread};

use flate2::{write::GzEncoder, Compression};
use ring::digest::{digest, SHA256};

use super::Release;
use crate::program::EXECUTABLE;

const VERSION: &str = "v1.2.3";

/// Returns the name of the archive for this system.
fn archive_name() -> String {
    Release::of(VERSION, &every_system(b""), "").expect("there is a release for this system").archive
}

/// Returns the lines of checksums.txt for an archive.
fn every_system(archive: &[u8]) -> String {
    let sum: String = digest(&SHA256, archive).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let systems = ["linux", "darwin", "windows"].iter().flat_map(|os| ["amd64", "arm64"].map(|arch| (os, arch)));
    systems.map(|(os, arch)| format!("{sum}  miniapi_1.2.3_{os}_{arch}.tar.gz\n")).collect()
}

/// Returns an archive with a file.
fn pack(file: &str, content: &str) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, content) in [("README.md", "read me"), (file, content)] {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn released() -> Vec<u8> {
    pack(EXECUTABLE, "released")
}

/// A folder that is removed when the value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("miniapi-rust-release-{}-{name}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn program(&self) -> PathBuf {
        self.0.join(VERSION).join(EXECUTABLE)
    }

    /// Returns the names of the files beside the program.
    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.join(VERSION)).into_iter().flatten();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An HTTP server of archives.
struct Mirror {
    url: String,
    /// The number of requests.
    gets: Arc<AtomicUsize>,
}

/// Answers requests for the archive by a function. Others aren't found. The server is a proxy, too.
fn serve(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Mirror {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mirror = Mirror { url: format!("http://{}", listener.local_addr().unwrap()), gets: Arc::default() };
    let (gets, answer) = (mirror.gets.clone(), Arc::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (gets, answer, mut stream) = (gets.clone(), answer.clone(), stream.unwrap());
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let mut request = || lines.by_ref().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
                let mut get = request();
                if get.starts_with("CONNECT releases.example:80 ") {
                    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
                    get = request();
                }
                gets.fetch_add(1, SeqCst);
                match get.contains(&format!("/{VERSION}/{} HTTP/1.1", archive_name())) {
                    true => answer(&mut stream),
                    false => sends("404 Not Found", b"none")(&mut stream),
                }
            });
        }
    });
    mirror
}

fn sends(status: &'static str, body: &[u8]) -> impl Fn(&mut TcpStream) {
    let body = body.to_vec();
    move |stream| {
        let _ = write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        let _ = stream.write_all(&body);
    }
}

/// Announces an archive, and sends its first half.
fn sends_half(archive: &[u8], then: impl Fn()) -> impl Fn(&mut TcpStream) {
    let archive = archive.to_vec();
    move |stream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", archive.len());
        let _ = stream.write_all(&archive[..archive.len() / 2]);
        then();
    }
}

fn waits() {
    loop {
        thread::park();
    }
}

/// Installs the program, and returns its content or the error.
fn install(folder: &Folder, place: &str, archive: &[u8]) -> Result<String, String> {
    let release = Release::of(VERSION, &every_system(archive), place).unwrap();
    let found = release.install(folder.program()).map_err(|error| error.to_string())?;
    assert_eq!(found, folder.program());
    Ok(fs::read_to_string(found).unwrap())
}

#[test]
fn a_release_is_downloaded() {
    let (folder, good) = (Folder::new("place"), released());
    let mirror = serve(sends("200 OK", &good));
    let place = folder.0.join("releases");
    fs::create_dir_all(place.join(VERSION)).unwrap();
    fs::write(place.join(VERSION).join(archive_name()), &good).unwrap();
    let redirect = format!("302 Found\r\nLocation: {}/{VERSION}/{}", mirror.url, archive_name());
    let login = mirror.url.replace("//", "//user:secret@");
    for (reason, place) in [
        ("the sum is right", mirror.url.clone()),
        ("a URL may end with a slash", format!("{}/", mirror.url)),
        ("a mirror may need a password", login),
        ("a mirror may redirect", serve(sends(redirect.leak(), b"")).url),
        ("the place may be a folder", place.to_str().unwrap().into()),
        ("the folder may be that of one release", place.join(VERSION).to_str().unwrap().into()),
    ] {
        let cache = Folder::new("installed");
        assert_eq!(install(&cache, &place, &good), Ok("released".into()), "{reason}");
        assert_eq!(cache.files(), ["lock", EXECUTABLE], "{reason}");
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&cache.program().metadata().unwrap().permissions()) & 0o777,
            0o755
        );
        let none = serve(sends("404 Not Found", b""));
        assert_eq!(install(&cache, &none.url, &good), Ok("released".into()), "the program is in the cache");
        assert_eq!(none.gets.load(SeqCst), 0);
    }
}

// Nothing that isn't the released program is left where it could be run.
#[test]
fn errors_say_what_to_do() {
    let (good, empty, broken) = (released(), pack("LICENSE", ""), b"program");
    let mirror = serve(sends("200 OK", &good)).url;
    let address = |url: &str| format!("{url}/{VERSION}/{}", archive_name());
    let sum = |archive: &[u8]| every_system(archive)[..64].to_string();
    let missing = serve(sends("404 Not Found", b"")).url;
    let without = Folder::new("without");
    let half = serve(sends_half(&good, || ())).url;
    let cases: &[(&str, &[u8], &[&str])] = &[
        (
            &mirror,
            &empty,
            &[
                &address(&mirror),
                &format!("has the SHA-256 sum {}", sum(&good)),
                &format!("miniapi {VERSION} is {}", sum(&empty)),
            ],
        ),
        (&half, &good, &[&address(&half), &format!("after {} bytes: ", good.len() / 2)]),
        (&missing, &good, &[&address(&missing), "the server answers 404 Not Found"]),
        (&serve(sends("206 Partial Content", &good)).url, &good, &["the server answers 206"]),
        (&serve(sends("200 OK", b"<html>")).url, &good, &["has the SHA-256 sum"]),
        (&serve(sends("200 OK", &empty)).url, &empty, &[&format!("the archive has no file {EXECUTABLE}")]),
        (&serve(sends("200 OK", broken)).url, broken, &["unpacking http://"]),
        ("http://127.0.0.1:1", &good, &[&address("http://127.0.0.1:1")]),
        (without.0.to_str().unwrap(), &good, &[VERSION, &archive_name()]),
        ("releases", &good, &[r#"$MINIAPI_RELEASES is "releases": the value must be an http or https URL"#]),
        ("ftp://user:secret@127.0.0.1", &good, &["ftp://user:xxxxx@127.0.0.1", "the value must be"]),
        (&mirror.replace("//", "//user:secret@"), &empty, &["http://user:xxxxx@127.0.0.1"]),
    ];
    for (place, archive, wants) in cases {
        let cache = Folder::new("wrong");
        let error = install(&cache, place, archive).unwrap_err();
        for want in wants.iter().chain(&[
            "set $MINIAPI_RELEASES to another place",
            "or $MINIAPI to the path of a miniapi of version v1.2.3",
        ]) {
            assert!(error.contains(want), "{place}: want {want:?} in {error}");
        }
        assert!(!error.contains("secret"), "{error}");
        assert_eq!(cache.files(), ["lock"], "{place}");
    }
}

#[test]
fn some_have_no_release() {
    let sums = every_system(b"");
    for (reason, version, sums, place) in [
        ("a checkout has no release", VERSION, "", ""),
        ("the user doesn't want a download", VERSION, &*sums, "off"),
        ("the sums are those of another version", "v1.2.4", &*sums, ""),
    ] {
        assert!(Release::of(version, sums, place).is_none(), "{reason}");
    }
    assert_eq!(Release::of(VERSION, &sums, "").unwrap().place, super::PUBLISHED);
}

#[test]
fn a_download_without_data_ends() {
    let good = released();
    for (reason, mirror) in [
        ("the server sends half an archive", serve(sends_half(&good, waits))),
        ("the server doesn't answer", serve(|_| waits())),
    ] {
        let cache = Folder::new("stalled");
        let mut release = Release::of(VERSION, &every_system(&good), &mirror.url).unwrap();
        release.patience = Duration::from_millis(10);
        let error = release.install(cache.program()).unwrap_err().to_string();
        assert!(error.contains("no data for 10ms"), "{reason}: {error}");
        assert_eq!(cache.files(), ["lock"], "{reason}");
    }
}

#[test]
#[ignore = "the next tests start it in processes of its own"]
fn one_of_many() {
    let folder = Folder(env::var_os("CACHE").unwrap().into());
    let content = install(&folder, "http://releases.example/miniapi", &released());
    std::mem::forget(folder);
    assert_eq!(content, Ok("released".into()));
}

fn start(cache: &Path, proxy: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "release::tests::one_of_many", "--ignored", "--nocapture"])
        .env("CACHE", cache)
        .env("HTTP_PROXY", proxy)
        .env_remove("ALL_PROXY")
        .env_remove("HTTPS_PROXY")
        .env_remove("NO_PROXY")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

// The mirror is behind the proxy of the environment.
#[test]
fn many_processes_download_once() {
    let (cache, proxy) = (Folder::new("many"), serve(sends("200 OK", &released())));
    let processes: Vec<_> = (0..8).map(|_| start(&cache.0, &proxy.url)).collect();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(proxy.gets.load(SeqCst), 1);
    assert_eq!(cache.files(), ["lock", EXECUTABLE]);
}

#[test]
fn a_killed_download_is_begun_again() {
    let (cache, good) = (Folder::new("killed"), released());
    let (send, halfway) = std::sync::mpsc::channel();
    let stalls = serve(sends_half(&good, move || {
        send.send(()).unwrap();
        waits();
    }));
    let mut process = start(&cache.0, &stalls.url);
    halfway.recv_timeout(Duration::from_secs(30)).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(!cache.program().exists());
    assert_eq!(install(&cache, &serve(sends("200 OK", &good)).url, &good), Ok("released".into()));
    assert_eq!(cache.files(), ["lock", EXECUTABLE]);
}
