//! The release of this crate's version, which has the program.

use std::env::consts::{ARCH, OS};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{sync_channel, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use ring::digest::{Context, SHA256};
use tar::Archive;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::Agent;

use crate::program::EXECUTABLE;
use crate::Error;

/// A line for each archive of this crate's version: the SHA-256 sum and the archive's name. A checkout has none. The
/// script `pack` writes them.
pub(crate) const CHECKSUMS: &str = include_str!("checksums.txt");

/// The place of the releases by default.
const PUBLISHED: &str = "https://github.com/miniapi-dev/miniapi/releases/download";

/// The size above which an archive isn't the program's.
const LARGEST: u64 = 256 << 20;

/// The time between two lines about the progress.
const TELL_EVERY: Duration = Duration::from_secs(10);

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The archive with the program for this system.
pub(crate) struct Release {
    version: String,
    archive: String,
    sum: String,
    /// The URL or the folder of the releases.
    place: String,
    /// The time without any data after which a download fails.
    patience: Duration,
}

impl Release {
    /// Returns the release of a version, or nothing if the checksums lack its archive, or if the place is "off". The place
    /// is the value of `$MINIAPI_RELEASES`.
    pub(crate) fn of(version: &str, checksums: &str, place: &str) -> Option<Self> {
        let system = if OS == "macos" { "darwin" } else { OS };
        let processor = [("x86_64", "amd64"), ("aarch64", "arm64")].iter().find(|(name, _)| *name == ARCH)?.1;
        let archive = format!("miniapi_{}_{system}_{processor}.tar.gz", version.trim_start_matches('v'));
        let sum = checksums.lines().find_map(|line| line.strip_suffix(&archive)?.strip_suffix("  "))?.into();
        let place = String::from(if place.is_empty() { PUBLISHED } else { place });
        let patience = Duration::from_secs(30);
        (place != "off").then(|| Self { version: version.into(), archive, sum, place, patience })
    }

    /// Downloads the program to a path, and returns the path. If other processes do so at the same time, one downloads it,
    /// and the others wait.
    pub(crate) fn install(&self, program: PathBuf) -> std::result::Result<PathBuf, Error> {
        self.locked(&program).map(|()| program).map_err(|error| {
            Error(self.redacted(&format!(
                "downloading {}: {error}; set $MINIAPI_RELEASES to another place of miniapi's releases, or $MINIAPI to the \
                 path of a miniapi of version {}",
                self.what(),
                self.version
            )))
        })
    }

    /// Returns the name of the program in messages, with the place of its release.
    fn what(&self) -> String {
        self.redacted(&format!("miniapi {} from {}", self.version, self.place))
    }

    /// Returns a text without the password in the place.
    fn redacted(&self, text: &str) -> String {
        let authority = self.place.split('/').nth(2).unwrap_or_default();
        let login = authority.rsplit_once('@').and_then(|(login, _)| login.split_once(':'));
        login.map_or(text.into(), |(user, password)| {
            text.replace(&format!("{user}:{password}@"), &format!("{user}:xxxxx@"))
        })
    }

    /// Puts the program into a subfolder, and then moves it, so an incomplete program never has its path. The lock is that
    /// of the Go fixture, too.
    fn locked(&self, program: &Path) -> Result {
        let folder = program.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder)?;
        let lock = File::create(folder.join("lock"))?;
        if lock.try_lock().is_err() {
            eprintln!("miniapi: another process downloads miniapi {}: waiting", self.version);
            lock.lock()?;
        }
        if program.is_file() {
            return Ok(());
        }
        let began = Instant::now();
        eprintln!("miniapi: downloading {}, once, for servers of tests", self.what());
        let unfinished = folder.join("unfinished-rust");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)?; // a process was killed
        }
        fs::create_dir(&unfinished)?;
        let installed = self.put(&unfinished).and_then(|unpacked| Ok(fs::rename(unpacked, program)?));
        fs::remove_dir_all(unfinished)?;
        installed?;
        eprintln!("miniapi: downloaded {} in {:.1?}", self.what(), began.elapsed());
        Ok(())
    }

    /// Downloads the archive into a folder, compares its sum, and only then unpacks the program.
    fn put(&self, folder: &Path) -> Result<PathBuf> {
        let packed = folder.join(&self.archive);
        let address = self.address()?;
        self.download(&address, &packed).map_err(|error| format!("{address}: {error}"))?;
        let program = folder.join(EXECUTABLE);
        unpack(&packed, &program).map_err(|error| format!("unpacking {address}: {error}"))?;
        Ok(program)
    }

    /// Returns the URL or the path of the archive. A folder may be that of one release, with the archive itself.
    fn address(&self) -> Result<String> {
        let Self { version, archive, place, .. } = self;
        let folder = Path::new(place);
        if place.starts_with("http://") || place.starts_with("https://") {
            Ok(format!("{}/{version}/{archive}", place.trim_end_matches('/')))
        } else if !folder.is_absolute() {
            Err(format!(
                "$MINIAPI_RELEASES is {place:?}: the value must be an http or https URL, the absolute path of a folder, or \
                 \"off\""
            ))?
        } else {
            let alone = folder.join(archive);
            let path = if alone.is_file() { alone } else { folder.join(version).join(archive) };
            Ok(path.to_string_lossy().into())
        }
    }

    /// Writes the archive to a file. Another thread reads it, because a read may wait for ever.
    fn download(&self, address: &str, to: &Path) -> Result {
        let (send, chunks) = sync_channel(1);
        let from = address.to_owned();
        thread::spawn(move || read(&from, &send).map_err(|error| send.send(Err(error))));
        let (mut file, mut sum) = (File::create(to)?, Context::new(&SHA256));
        let (mut size, mut told) = (0, Instant::now());
        loop {
            let chunk = match chunks.recv_timeout(self.patience) {
                Ok(chunk) => chunk.map_err(|error| format!("after {size} bytes: {error}"))?,
                Err(RecvTimeoutError::Timeout) => Err(format!("after {size} bytes: no data for {:?}", self.patience))?,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            size += chunk.len() as u64;
            if size > LARGEST {
                Err(format!("it has more than {} MiB, and isn't the released archive", LARGEST >> 20))?;
            }
            file.write_all(&chunk)?;
            sum.update(&chunk);
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                eprintln!("miniapi: downloading {}: {} MB", self.what(), size / 1_000_000);
            }
        }
        let sum: String = sum.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        if sum != self.sum {
            let Self { version, sum: want, .. } = self;
            Err(format!("it has the SHA-256 sum {sum}, but that of miniapi {version} is {want}"))?;
        }
        Ok(())
    }
}

/// Sends the content of a file or of a URL.
fn read(address: &str, send: &SyncSender<Result<Vec<u8>>>) -> Result {
    let mut body = open(address)?;
    loop {
        let mut chunk = vec![0; 1 << 16];
        let size = body.read(&mut chunk)?;
        chunk.truncate(size);
        if size == 0 || send.send(Ok(chunk)).is_err() {
            return Ok(());
        }
    }
}

fn open(address: &str) -> Result<Box<dyn Read>> {
    if Path::new(address).is_absolute() {
        return Ok(Box::new(File::open(address)?));
    }
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let agent: Agent = Agent::config_builder().tls_config(tls).http_status_as_error(false).build().into();
    let answer = agent.get(address).call()?;
    if answer.status() != 200 {
        Err(format!("the server answers {}", answer.status()))?;
    }
    Ok(Box::new(answer.into_body().into_reader()))
}

/// Writes the program in an archive to a file.
fn unpack(packed: &Path, to: &Path) -> Result {
    for file in Archive::new(GzDecoder::new(File::open(packed)?)).entries()? {
        let mut file = file?;
        if file.path()?.file_name() == Some(EXECUTABLE.as_ref()) {
            file.unpack(to)?;
            return Ok(());
        }
    }
    Err(format!("the archive has no file {EXECUTABLE}"))?
}

#[cfg(test)]
mod tests;
