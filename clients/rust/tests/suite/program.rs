use std::env;
use std::ffi::OsStr;
use std::fs::{create_dir_all, remove_dir_all};
use std::path::{Path, PathBuf};
use std::process::Command;

use miniapi::{Options, Server};

use crate::Result;

#[tokio::test]
#[ignore = "the next test starts it in processes of its own"]
async fn starts() -> Result {
    Ok(Server::start(Options::default()).await?.stop().await?)
}

// The program is looked for in $MINIAPI, then in the user's cache folder, then on the PATH.
#[test]
#[cfg(target_os = "linux")]
fn the_program_is_found() -> Result {
    let folders = env::var_os("PATH").unwrap_or_default();
    let installed = env::split_paths(&folders).map(|folder| folder.join("miniapi"));
    let program = env::var_os("MINIAPI").map(PathBuf::from).into_iter().chain(installed).find(|place| place.is_file());
    let program = program.ok_or("the suite needs a program in $MINIAPI or on the PATH")?;
    let folder = env::temp_dir().join(format!("miniapi-rust-{}", std::process::id()));
    let (cache, path, empty) = (folder.join("cache"), folder.join("path"), folder.join("empty"));
    let cached = cache.join("miniapi/fixture").join(concat!("v", env!("CARGO_PKG_VERSION")));
    for place in [&cached, &path] {
        create_dir_all(place)?;
        std::os::unix::fs::symlink(&program, place.join("miniapi"))?;
    }
    let none = OsStr::new("");
    for (named, cache, path, want) in [
        (program.as_os_str(), &empty, &empty, "test result: ok"),
        (none, &cache, &empty, "test result: ok"),
        (none, &empty, &path, "test result: ok"),
        (none, &empty, &empty, "or set $MINIAPI to the path of a miniapi program"),
        (empty.as_os_str(), &cache, &path, "the value must be the path of a miniapi program"),
    ] {
        let output = run(named, cache, path)?;
        assert!(output.contains(want), "$MINIAPI={named:?}, cache {cache:?}, PATH={path:?}: want {want:?} in {output}");
    }
    remove_dir_all(folder)?;
    Ok(())
}

/// Returns the output of a process that runs the test above.
fn run(named: &OsStr, cache: &Path, path: &Path) -> Result<String> {
    let output = Command::new(env::current_exe()?)
        .args(["--exact", "program::starts", "--ignored"])
        .env("MINIAPI", named)
        .env("XDG_CACHE_HOME", cache)
        .env("PATH", path)
        .output()?;
    Ok(String::from_utf8(output.stdout)?)
}
