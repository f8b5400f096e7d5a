use std::env;
use std::path::PathBuf;

#[cfg(feature = "download")]
use crate::release::{Release, CHECKSUMS};
use crate::Error;

/// Returns the path of the program: `$MINIAPI`, or that of this crate's version in the user's cache folder, or the one on
/// the `PATH`, or that of this crate's release, which is downloaded into the cache folder.
pub(crate) fn find() -> Result<PathBuf, Error> {
    if let Some(named) = env::var_os("MINIAPI").filter(|named| !named.is_empty()).map(PathBuf::from) {
        return match named.is_file() {
            true => Ok(named),
            false => {
                Err(Error(format!("$MINIAPI: {named:?} is no file: the value must be the path of a miniapi program")))
            }
        };
    }
    const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));
    let cached = user_cache().map(|cache| cache.join("miniapi/fixture").join(VERSION));
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut programs = cached.iter().cloned().chain(env::split_paths(&folders)).map(|folder| folder.join(EXECUTABLE));
    if let Some(program) = programs.find(|program| program.is_file()) {
        return Ok(program);
    }
    #[cfg(feature = "download")]
    if let Some(cached) = cached {
        let place = env::var_os("MINIAPI_RELEASES").unwrap_or_default();
        if let Some(release) = Release::of(VERSION, CHECKSUMS, &place.to_string_lossy()) {
            return release.install(cached.join(EXECUTABLE));
        }
    }
    Err(Error(format!(
        "there is no miniapi program in the user's cache folder or on the PATH: install miniapi {VERSION}, or set \
         $MINIAPI to the path of a miniapi program"
    )))
}

pub(crate) const EXECUTABLE: &str = if cfg!(windows) { "miniapi.exe" } else { "miniapi" };

/// Returns the folder that Go's `os.UserCacheDir` returns.
fn user_cache() -> Option<PathBuf> {
    let folder = |variable| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    if cfg!(windows) {
        folder("LocalAppData")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
    }
}
