use std::fmt;

/// The reason why an operation failed: the message of the host, or that of a request to it.
#[derive(Clone)]
pub struct Error(pub(crate) String);

impl Error {
    pub(crate) fn new(context: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self(format!("{context}: {error:#}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A test that returns the error prints this form, so it is the message, too.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
